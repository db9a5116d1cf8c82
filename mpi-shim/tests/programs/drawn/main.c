/* Operations with drawn counts, types, roots, peers and communicators on up to nine ranks, and a ledger of its own, which each rank writes. The first argument is the
 * seed, the second how many turns; all ranks draw the same. */
#include "drawn.h"
#include <stdlib.h>

MPI_Comm comms[COMMS];
MPI_Datatype types[TYPES];
char in[ROOM], out[ROOM];

/* In turns, and every second one is collective. */
static void (*const families[])(int number, int at) = {message, collective, window, collective, file, collective, neighbourhood, collective, communicator, collective};
enum { FAMILIES = sizeof families / sizeof *families };

int main(int argc, char **argv)
{
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), write_down("", "Init_thread", 0, 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3 || size > RANKS) MPI_Abort(MPI_COMM_WORLD, 9);
    comms[0] = MPI_COMM_WORLD, comms[1] = MPI_COMM_SELF;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[2]), write_down("", "Comm_split", 0, 0);
    MPI_Comm_split(MPI_COMM_WORLD, 3 * rank < size, rank, &comms[3]), write_down("", "Comm_split", 0, 0);
    types[0] = MPI_INT, types[1] = MPI_DOUBLE, types[2] = MPI_CHAR;
    /* Three times two ints of five: 48 bytes from the first to the last. */
    MPI_Type_vector(3, 2, 5, MPI_INT, &types[3]);
    MPI_Type_commit(&types[3]);
    uint64_t seed = strtoull(argv[1], NULL, 10);
    for (int turn = 0; turn < atoi(argv[2]); turn++) {
        draw_for(seed, (uint64_t)turn);
        families[turn % FAMILIES](turn % 2 ? turn / 2 : turn / FAMILIES, drawn(COMM, 0, 0, COMMS));
    }
    end_windows(), end_files(), end_neighbourhoods();
    print_ledger();
    MPI_Finalize();
    return 0;
}

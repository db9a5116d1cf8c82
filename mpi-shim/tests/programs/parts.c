/* Communicators that one call makes of different ranks, of different sizes, and some that only a few ranks make: on each, work
 * whose amount the test knows and then an allreduce of 64 bytes; around the parts of the world, messages too. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>

static uint64_t *blocks;
static char in[64], out[64];

static void meet(MPI_Comm comm, int step)
{
    if (blocks) *blocks += 1000 * (uint64_t)((rank * 7 + step * 3) % 11);
    MPI_Allreduce(in, out, 64, MPI_BYTE, MPI_BOR, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm part, few, all;
    MPI_Group world, first;
    int in_part, of_part, range[1][3] = {{0, 1, 1}};
    start(&argc, &argv);
    blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    MPI_Comm_split(MPI_COMM_WORLD, rank >= 2, rank, &part);
    for (int step = 0; step < 3; step++) meet(part, step);
    MPI_Comm_rank(part, &in_part);
    MPI_Comm_size(part, &of_part);
    MPI_Sendrecv(in, 64, MPI_BYTE, (in_part + 1) % of_part, 5, out, 64, MPI_BYTE, (in_part + of_part - 1) % of_part, 5, part,
                 MPI_STATUS_IGNORE);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &first);
    if (rank < 2) {
        MPI_Comm_create_group(MPI_COMM_WORLD, first, 0, &few);
        meet(few, 3);
        MPI_Comm_free(&few);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    meet(all, 4);
    MPI_Group_free(&first);
    MPI_Group_free(&world);
    MPI_Comm_free(&part);
    MPI_Comm_free(&all);
    MPI_Finalize();
    return 0;
}

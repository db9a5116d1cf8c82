// Every rank waits for a message that nobody sends; with an argument rank 0 computes for ever instead.
#include <mpi.h>

int main(int argc, char** argv) {
    int rank, word;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    volatile double sum = 0;
    while (argc > 1 && rank == 0) sum += 1;
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

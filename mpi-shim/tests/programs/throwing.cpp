/* An error handler that throws: the exception passes through MPI, and what follows is measured as before. */
#include <mpi.h>
#include <cstdio>

static void raise(MPI_Comm *, int *, ...) { throw 7; }

int main(int argc, char **argv)
{
    int rank, number = 1, caught = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(raise, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    try {
        MPI_Send(&number, 1, MPI_INT, 4711, 1, MPI_COMM_WORLD);
    } catch (int value) {
        caught = value;
    }
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("caught %d\n", caught);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
}

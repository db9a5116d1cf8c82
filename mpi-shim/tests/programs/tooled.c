/* Two sends from rank 0 to rank 1, a sum, and a barrier by its name of the profiling interface, which a tool (tool.c) is not to see. */
#include <mpi.h>
#ifdef OWN
#include "tool.c"
#endif

int main(int argc, char **argv)
{
    int rank, values[4] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) {
        if (rank == 0) MPI_Send(values, 4, MPI_INT, 1, i, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(values, 4, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(&values[0], &values[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}

/* A tool of the profiling interface, in a library of its own or in the program (tooled.c with -DOWN): counts three functions, synchronises ranks before one of them, and
 * says at the end what it has seen. */
#include <mpi.h>
#include <stdio.h>

static int begins, sends, sums;

int MPI_Init(int *argc, char ***argv)
{
    begins++;
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    sums++;
    PMPI_Barrier(comm);
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d: %d begins, %d sends, %d sums\n", rank, begins, sends, sums);
    fflush(stdout);
    return PMPI_Finalize();
}

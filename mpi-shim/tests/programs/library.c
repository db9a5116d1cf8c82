/* A library that uses MPI, for programs that do not: apart.c, opened.c. */
#include <mpi.h>
#include <stddef.h>

int use_begin(void)
{
    int is_there, error = MPI_Init(NULL, NULL);
    MPI_Initialized(&is_there);
    return error + !is_there;
}

/* Handles of one MPI crash another. 42 if all is well. */
int use_compute(void)
{
    int mine[2] = {20, 1}, sum[2] = {0}, received = 0, size, rank;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&sum[0], 1, MPI_INT, rank, 5, &received, 1, MPI_INT, rank, 5, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    return 2 * received + sum[1] + size;
}

int use_end(void)
{
    int is_over, error = MPI_Finalize();
    MPI_Finalized(&is_over);
    return error + !is_over;
}

static int ends_late;

/* MPI ends as the process does. */
int use_end_late(void)
{
    ends_late = 1;
    return 0;
}

static void __attribute__((destructor)) end_late(void)
{
    if (ends_late) use_end();
}

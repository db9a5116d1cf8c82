/* Two ranks; the one that the argument names is killed by a signal in the midst of the run, none where it is no number. */
#include <ctype.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **values)
{
    int rank;
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(1000000);
    if (isdigit(values[1][0]) && rank == atoi(values[1])) raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

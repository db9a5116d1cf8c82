/* Ranks that end in many ways: the last one by itself as the first argument says, while the others wait for it, and not before the files are there that
   the other arguments name. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **values)
{
    int rank, size, is_last;
    const char *how = values[1];
#define IS(name) (is_last && !strcmp(how, name))
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_last = rank == size - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(300000);
    for (int i = 2; i < count; i++)
        for (int left = 6000; left && access(values[i], F_OK); left--)
            usleep(10000);
    if (IS("exit 0"))
        exit(0);
    if (IS("exit 3"))
        exit(3);
    if (IS("_exit 4"))
        _exit(4);
    if (IS("MPI_Abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (IS("SIGKILL"))
        raise(SIGKILL);
    if (IS("SIGSEGV"))
        raise(SIGSEGV);
    if (IS("fatal error"))
        MPI_Send(NULL, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (IS("MPI_Finalize, exit 3"))
        exit(3);
    if (IS("MPI_Finalize, _exit 4"))
        _exit(4);
    return 0;
}

/* MPI operations below several call paths of a program that nobody instruments: the same function from two places and
 * two callers, with a part of the stack of its own size each time, and in a recursion, at last a deep one. The argument says how often. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static int number = 1, sum;

__attribute__((noinline)) static void add(int times)
{
    for (int i = 0; i < times; i++) MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sum++;
}

__attribute__((noinline)) static void shifted(int bytes)
{
    volatile char space[bytes];
    space[bytes - 1] = 1;
    add(1);
    sum += space[bytes - 1];
}

__attribute__((noinline)) static void recurse(int depth)
{
    if (depth > 0) recurse(depth - 1);
    add(1);
    sum++;
}

static int compare(const void *a, const void *b)
{
    add(1);
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 50, pair[2] = {2, 1};
    MPI_Init(&argc, &argv);
    for (int i = 0; i < times; i++) {
        add(2);
        shifted(16 * i + 1);
        recurse(3);
        add(1);
        MPI_Barrier(MPI_COMM_WORLD);
        /* One comparison; libc is between. */
        qsort(pair, 2, sizeof *pair, compare);
    }
    recurse(1500);
    /* Work that takes a known time at least, outside MPI. */
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == 0;
}

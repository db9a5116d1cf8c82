/* Prints what a round trip of 8 bytes and an allreduce of 8 bytes cost on two ranks, in nanoseconds per call: medians of batches. */
#include "cases.h"
#include <time.h>

#define BATCH 2000
#define BATCHES 101

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void round_trip(void)
{
    double value = 0;
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

static void allreduce(void)
{
    double in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void measure(const char *name, void (*call)(void), int calls)
{
    double each[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now();
        for (int i = 0; i < BATCH; i++) call();
        each[batch] = (now() - begin) / BATCH / calls;
    }
    qsort(each, BATCHES, sizeof *each, by_value);
    if (rank == 0) printf("%s %.1f\n", name, each[BATCHES / 2]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    measure("Send,Recv", round_trip, 4); /* four calls follow each other on the way */
    measure("Allreduce", allreduce, 1);
    MPI_Finalize();
    return 0;
}

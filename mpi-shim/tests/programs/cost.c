/* Nanoseconds on one rank: of each kind of calls the median of many short batches, by how many calls it is. */
#include "cases.h"
#include <time.h>

#define BATCH 100
#define BATCHES 1501

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int order(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

#define COST(NAME, CALLS, ...)                                        \
    do {                                                              \
        static double each[BATCHES];                                  \
        for (int batch = 0; batch < BATCHES; batch++) {               \
            double begin = now();                                     \
            for (int i = 0; i < BATCH; i++) { __VA_ARGS__; }          \
            each[batch] = (now() - begin) / BATCH / CALLS;            \
        }                                                             \
        qsort(each, BATCHES, sizeof *each, order);                    \
        printf("%s %.2f\n", NAME, each[BATCHES / 2]);                 \
    } while (0)

int main(int argc, char **argv)
{
    double in = 0, out;
    int number;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    start(&argc, &argv);
#define RECEIVE MPI_Irecv(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0])
#define SEND MPI_Isend(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1])
    COST("Comm_size", 1, MPI_Comm_size(MPI_COMM_SELF, &number));
    COST("Iprobe", 1, MPI_Iprobe(0, 1, MPI_COMM_SELF, &number, MPI_STATUS_IGNORE));
    /* A blocking send to oneself needs its receive under MPICH. */
#ifdef OPEN_MPI
    COST("Send+Recv", 2, MPI_Send(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
         MPI_Recv(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
#endif
    COST("Irecv+Send+Wait", 3, RECEIVE; MPI_Send(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
         MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    COST("Irecv+Isend+Waitall", 3, RECEIVE; SEND; MPI_Waitall(2, requests, statuses));
    COST("Irecv+Isend+Wait+Wait", 4, RECEIVE; SEND; MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
         MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    COST("Sendrecv", 1, MPI_Sendrecv(&in, 1, MPI_DOUBLE, 0, 1, &out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF,
                                     MPI_STATUS_IGNORE));
    COST("Allreduce", 1, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    MPI_Finalize();
    return 0;
}

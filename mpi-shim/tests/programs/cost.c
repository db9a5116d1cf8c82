/* Nanoseconds per call, on one rank: for each kind of call the fastest of 40 batches. */
#include "cases.h"
#include <time.h>

#define BATCH 20000

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

#define COST(NAME, CALL)                                                  \
    do {                                                                  \
        double best = 1e30;                                               \
        for (int batch = 0; batch < 40; batch++) {                        \
            double begin = now();                                         \
            for (int i = 0; i < BATCH; i++) CALL;                         \
            double each = (now() - begin) / BATCH;                        \
            if (each < best) best = each;                                 \
        }                                                                 \
        printf("%s %.1f\n", NAME, best);                                  \
    } while (0)

int main(int argc, char **argv)
{
    double in = 0, out;
    int number;
    MPI_Request requests[2];
    start(&argc, &argv);
    COST("Comm_size", MPI_Comm_size(MPI_COMM_SELF, &number));
    COST("Iprobe", MPI_Iprobe(0, 1, MPI_COMM_SELF, &number, MPI_STATUS_IGNORE));
    /* A blocking send to oneself needs its receive under MPICH. */
#ifdef OPEN_MPI
    COST("Send+Recv", (MPI_Send(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF),
                       MPI_Recv(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)));
#else
    COST("Irecv+Send+Wait", (MPI_Irecv(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]),
                             MPI_Send(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF),
                             MPI_Wait(&requests[0], MPI_STATUS_IGNORE)));
#endif
    COST("Sendrecv", MPI_Sendrecv(&in, 1, MPI_DOUBLE, 0, 1, &out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF,
                                  MPI_STATUS_IGNORE));
    COST("Irecv+Isend+Waitall", (MPI_Irecv(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]),
                                 MPI_Isend(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]),
                                 MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)));
    COST("Allreduce", MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    MPI_Finalize();
    return 0;
}

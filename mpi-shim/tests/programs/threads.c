/* Some threads a rank (four, or as many as the first argument says), each with messages of its own around the ring at the same time. Message i of thread t has
 * 1 + (i + t) % 7 ints; the second argument says how many, in steps of four. Requests are freed and made all the time, so their handles go from thread to thread. */
#include "cases.h"
#include <pthread.h>

#define MOST 64

static int next, before, messages = 400;

static void *exchange(void *argument)
{
    int thread = (int)(intptr_t)argument, in[8] = {0}, out[2][8], flag;
    MPI_Request receives[2], send;
    for (int i = 0; i < messages; i += 2) {
        for (int j = 0; j < 2; j++)
            MPI_Irecv(out[j], 8, MPI_INT, before, 2 * thread + j, MPI_COMM_WORLD, &receives[j]);
        for (int j = 0; j < 2; j++) {
            MPI_Isend(in, 1 + (i + j + thread) % 7, MPI_INT, next, 2 * thread + j, MPI_COMM_WORLD, &send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        }
        if (i % 4) {
            MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
        } else {
            for (flag = 0; !flag;) MPI_Test(&receives[0], &flag, MPI_STATUS_IGNORE);
            MPI_Wait(&receives[1], MPI_STATUS_IGNORE);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    int number = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t threads[MOST];
    if (argc > 2) messages = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (intptr_t i = 0; i < number; i++) pthread_create(&threads[i], NULL, exchange, (void *)i);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}

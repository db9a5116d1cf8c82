/* Persistent requests of rank 0 that one thread starts while another waits for both it and an active one, or tests them all the time: sends, and receives of which
 * the last test finds messages that are there already. At the end rank 1 works 100,000 blocks before each of four messages, for which rank 0 waits in MPI_Recv. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define ROUNDS 1000
#define WAITS 3

static MPI_Request requests[2];
static atomic_int done;

static void *starts(void *argument)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&requests[1]);
        while (done <= round) sched_yield();
    }
    return argument;
}

/* Completes what the other thread starts. */
static void test(void)
{
    pthread_t other;
    int which, flag;
    MPI_Status status;
    done = 0;
    pthread_create(&other, NULL, starts, NULL);
    while (done < ROUNDS) {
        MPI_Testany(2, requests, &which, &flag, &status);
        CHECK(!flag || which == 1);
        if (flag) done++;
        /* MPICH's threads take turns at one lock. */
        sched_yield();
    }
    pthread_join(other, NULL);
    MPI_Request_free(&requests[1]);
}

static void *starts_later(void *argument)
{
    int value = 0;
    /* By then the other thread waits. */
    usleep(200000);
    MPI_Start(&requests[1]);
    MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    return argument;
}

/* Waits for the first request, whose message rank 1 sends when the second has been started. */
static void wait_for_both(void)
{
    pthread_t other;
    int which;
    MPI_Start(&requests[0]);
    pthread_create(&other, NULL, starts_later, NULL);
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
    pthread_join(other, NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void receive(int tag)
{
    int value;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int provided, value = 0, last = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE && size == 2);
    uint64_t *blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    if (rank == 0) {
        MPI_Recv_init(&last, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < WAITS; i++) wait_for_both();
        MPI_Start(&requests[0]);
        test();
        /* Not before may the first request's message come. */
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Recv_init(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[1]);
        MPI_Start(&requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        for (int i = 0; i < WAITS; i++) wait_for_both();
        MPI_Start(&requests[0]);
        test();
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[0]);
        receive(6);
        for (int i = 0; i < 4; i++) MPI_Recv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        for (int i = 0; i < WAITS; i++) {
            receive(6);
            receive(7);
            MPI_Send(&last, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        for (int i = 0; i < ROUNDS; i++) receive(6);
        receive(7);
        MPI_Send(&last, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Send(&last, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
        for (int i = 0; i < WAITS; i++) {
            receive(7);
            MPI_Send(&i, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
            MPI_Send(&last, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
        for (int i = 0; i < ROUNDS; i++) MPI_Send(&i, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
        receive(7);
        MPI_Send(&last, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        for (int i = 0; i < 5; i++) {
            /* The first is far later than all that was before. */
            if (blocks) *blocks += i == 0 ? 1000000000 : 100000;
            MPI_Send(&i, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}

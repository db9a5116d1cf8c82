/* Receives that get no message, or another than the order in which they were posted seems to say: cancelled ones ("cancel"), ones cancelled and then freed
 * ("free"), and a thread's that is posted while another thread waits for the same message ("two"). Each is followed by usual messages with the same tag, before which
 * the sender works. Rank 0 is where rank 1's messages go. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#define TAG 5
#define WORK 50000
#define LATER 20

static int in[3];

static void receive(int *to, MPI_Request *request) { MPI_Irecv(to, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, request); }

static void send_one(int value) { MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD); }

/* Also with a message that is there before its receive is posted: its clock is there early, too. */
static void cancel(int early)
{
    MPI_Request requests[2];
    MPI_Status status;
    int is_cancelled;
    if (rank == 0) {
        receive(&in[0], &requests[0]);
        receive(&in[1], &requests[1]);
        MPI_Cancel(&requests[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int i = 0; i <= early; i++) send_one(7 + i);
    if (early) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) return;
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK(is_cancelled && in[1] == 7);
    if (early) MPI_Recv(&in[2], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void free_one(int early)
{
    MPI_Request request;
    if (rank == 0) {
        receive(&in[0], &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int i = 0; i <= early; i++) send_one(7 + i);
    if (early) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) return;
    receive(&in[1], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[1] == 7);
    if (early) MPI_Recv(&in[2], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The first message is for this thread's receive, and the second is sent when it is complete. */
static void *first(void *argument)
{
    MPI_Recv(&in[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&in[0], 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
    return argument;
}

static void two(void)
{
    MPI_Request request;
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, first, NULL);
        usleep(300000);
        receive(&in[1], &request);
        MPI_Barrier(MPI_COMM_WORLD);
        pthread_join(thread, NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        send_one(7);
        MPI_Recv(&in[0], 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_one(8);
    }
}

int main(int argc, char **argv)
{
    MPI_Request requests[2];
    int provided, values[2];
    CHECK(argc == 2);
    MPI_Init_thread(&argc, &argv, strcmp(argv[1], "two") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    uint64_t *blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    if (strcmp(argv[1], "two")) {
        for (int early = 0; early < 2; early++) *argv[1] == 'c' ? cancel(early) : free_one(early);
    } else {
        CHECK(provided == MPI_THREAD_MULTIPLE);
        two();
    }
    /* Each message is sent when the one before it has been received, and the sender works meanwhile. */
    CASE("later", for (int i = 0; i < LATER; i++) {
        if (rank == 1) {
            MPI_Recv(&values[0], 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (blocks) *blocks += WORK;
            send_one(i);
        } else {
            receive(&values[0], &requests[0]);
            MPI_Send(&i, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            CHECK(values[0] == i);
        }
    });
    MPI_Finalize();
    if (rank == 0) printf("ended\n");
    return 0;
}

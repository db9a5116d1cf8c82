/* Everything that threads may do at once, with a ledger: each thread counts its own calls and bytes, by the rules of docs/mpi.md, and each rank prints the sums,
 * one line "function calls sent received" each, for a test to compare with the profile. Threads (eight, or as many as the first argument says) of one rank send
 * and receive on MPI_COMM_WORLD, each with tags of its own, and on a communicator of their own with wildcards; they call collective operations, make
 * communicators and free them, and every thread completes the requests of its neighbour. The second argument is how many rounds at least, the third for how
 * many seconds. */
#include "cases.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>

#define MOST 64
enum { SEND, RECV, ISEND, IRECV, WAIT, WAITALL, WAITANY, TEST, IPROBE, PROBE, MPROBE, MRECV, SENDRECV, START, ALLREDUCE, BCAST, IALLREDUCE, BARRIER, DUP, FREE, RECV_INIT,
       SEND_INIT, REQUEST_FREE, KINDS };
static const char *names[KINDS] = {"Send", "Recv", "Isend", "Irecv", "Wait", "Waitall", "Waitany", "Test", "Iprobe", "Probe", "Mprobe", "Mrecv", "Sendrecv",
    "Start", "Allreduce", "Bcast", "Iallreduce", "Barrier", "Comm_dup", "Comm_free", "Recv_init", "Send_init", "Request_free"};

struct entry {
    long calls, sent, received;
};

struct thread {
    pthread_t id;
    MPI_Comm comm;
    int number;
    struct entry entries[KINDS];
    /* A request that the thread before this one gave it. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MPI_Request *given;
    long bytes;
};

static struct thread threads[MOST];
static int number = 8, rounds = 100;
static double seconds;
static pthread_barrier_t meeting;
static int goes_on;

static void write_down(struct thread *self, int kind, long sent, long received)
{
    struct entry *entry = &self->entries[kind];
    entry->calls++;
    entry->sent += sent;
    entry->received += received;
}

/* Hands a request to the next thread of this rank, which completes it, and waits until it has. */
static void hand_over(struct thread *self, MPI_Request *request, long bytes)
{
    struct thread *other = &threads[(self->number + 1) % number];
    pthread_mutex_lock(&other->lock);
    other->given = request;
    other->bytes = bytes;
    pthread_cond_broadcast(&other->changed);
    pthread_mutex_unlock(&other->lock);
    /* Meanwhile this thread does the same for the one before it. */
    pthread_mutex_lock(&self->lock);
    while (!self->given) pthread_cond_wait(&self->changed, &self->lock);
    MPI_Request *given = self->given;
    long its_bytes = self->bytes;
    pthread_mutex_unlock(&self->lock);
    MPI_Wait(given, MPI_STATUS_IGNORE);
    write_down(self, WAIT, 0, its_bytes);
    pthread_mutex_lock(&self->lock);
    self->given = NULL;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_mutex_lock(&other->lock);
    while (other->given == request) pthread_cond_wait(&other->changed, &other->lock);
    pthread_mutex_unlock(&other->lock);
}

/* Messages on the communicator of all threads, told apart by their tags. */
static void among_all(struct thread *self, int round)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, tag = 4 * self->number;
    int count = 1 + (round + self->number) % 7, out[8] = {round}, in[2][1000], flag = 0, which;
    MPI_Request requests[3];
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(in[i], 8, MPI_INT, before, tag + i, MPI_COMM_WORLD, &requests[i]);
        write_down(self, IRECV, 0, 0);
    }
    MPI_Isend(out, count, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[2]);
    write_down(self, ISEND, 4 * count, 0);
    MPI_Send(out, count, MPI_INT, next, tag + 1, MPI_COMM_WORLD);
    write_down(self, SEND, 4 * count, 0);
    switch (round % 3) {
    case 0:
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        write_down(self, WAITALL, 0, 2 * 4 * count);
        break;
    case 1:
        while (!flag) {
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            write_down(self, TEST, 0, flag ? 4 * count : 0);
            if (!flag) sched_yield();
        }
        hand_over(self, &requests[1], 4 * count);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        write_down(self, WAIT, 0, 0);
        break;
    default:
        for (int i = 0; i < 3; i++) {
            MPI_Waitany(3, requests, &which, MPI_STATUS_IGNORE);
            write_down(self, WAITANY, 0, which < 2 ? 4 * count : 0);
        }
    }
    CHECK(in[0][0] == round && in[1][0] == round);
    /* Long enough to wait for its receiver. */
    MPI_Sendrecv(in[0], 1000, MPI_INT, next, tag + 2, in[1], 1000, MPI_INT, before, tag + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    write_down(self, SENDRECV, 4000, 4000);
}

/* Wildcards on the thread's own communicator: each rank sends to all others and receives as many from whomever. */
static void from_anybody(struct thread *self, int round)
{
    int out[4] = {round}, in[4], flag = 0, count;
    MPI_Request send;
    MPI_Status status;
    MPI_Message message;
    for (int i = 1; i < size; i++) {
        MPI_Isend(out, 1 + rank % 4, MPI_INT, (rank + i) % size, round % 5, self->comm, &send);
        write_down(self, ISEND, 4 * (1 + rank % 4), 0);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        write_down(self, WAIT, 0, 0);
    }
    for (int i = 1; i < size; i++) {
        if (i % 3 == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, self->comm, &message, &status);
            write_down(self, MPROBE, 0, 0);
            MPI_Mrecv(in, 4, MPI_INT, &message, &status);
            write_down(self, MRECV, 0, 4 * (1 + status.MPI_SOURCE % 4));
        } else {
            if (i % 3 == 1) {
                for (flag = 0; !flag;) {
                    MPI_Iprobe(MPI_ANY_SOURCE, round % 5, self->comm, &flag, &status);
                    write_down(self, IPROBE, 0, 0);
                    if (!flag) sched_yield();
                }
            } else {
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, self->comm, &status);
                write_down(self, PROBE, 0, 0);
            }
            MPI_Recv(in, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, self->comm, &status);
            write_down(self, RECV, 0, 4 * (1 + status.MPI_SOURCE % 4));
        }
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(in[0] == round && count == 1 + status.MPI_SOURCE % 4);
    }
    /* Else a rank could take a message of the next round in this one. */
    MPI_Barrier(self->comm);
    write_down(self, BARRIER, 0, 0);
}

/* What a whole communicator does, and new ones. */
static void together(struct thread *self, int round)
{
    int ones[16], sums[16];
    MPI_Request request;
    MPI_Comm other;
    for (int i = 0; i < 16; i++) ones[i] = 1;
    MPI_Allreduce(ones, sums, 16, MPI_INT, MPI_SUM, self->comm);
    write_down(self, ALLREDUCE, 64, 64);
    CHECK(sums[15] == size);
    MPI_Iallreduce(ones, sums, 2, MPI_INT, MPI_SUM, self->comm, &request);
    write_down(self, IALLREDUCE, 8, 8);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    write_down(self, WAIT, 0, 0);
    CHECK(sums[1] == size);
    if (round % 32 == 0) {
        MPI_Comm_dup(self->comm, &other);
        write_down(self, DUP, 0, 0);
        MPI_Bcast(ones, 3, MPI_INT, size - 1, other);
        write_down(self, BCAST, rank == size - 1 ? 12L * size : 0, 12);
        MPI_Comm_free(&other);
        write_down(self, FREE, 0, 0);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void *work(void *argument)
{
    struct thread *self = argument;
    int in, out = 0, on = 1, tag = 4 * self->number + 3;
    double end = now() + seconds;
    MPI_Request requests[2];
    MPI_Recv_init(&in, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &requests[0]);
    write_down(self, RECV_INIT, 0, 0);
    MPI_Send_init(&out, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &requests[1]);
    write_down(self, SEND_INIT, 0, 0);
    for (int round = 0; on; round++) {
        out = round;
        for (int i = 0; i < 2; i++) {
            MPI_Start(&requests[i]);
            write_down(self, START, 4 * i, 0);
        }
        among_all(self, round);
        from_anybody(self, round);
        together(self, round);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        write_down(self, WAITALL, 0, 4);
        CHECK(in == round);
        /* Threads hand requests to each other, so all stop after the same round: the first one of rank 0 says which. */
        if (round % 50 == 49) {
            pthread_barrier_wait(&meeting);
            if (self->number == 0) {
                goes_on = rank == 0 && (round + 1 < rounds || now() < end);
                MPI_Bcast(&goes_on, 1, MPI_INT, 0, self->comm);
                write_down(self, BCAST, rank == 0 ? 4L * size : 0, 4);
            }
            pthread_barrier_wait(&meeting);
            on = goes_on;
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        write_down(self, REQUEST_FREE, 0, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, length = 0;
    char text[KINDS * 80];
    if (argc > 1) number = atoi(argv[1]);
    if (argc > 2) rounds = atoi(argv[2]);
    if (argc > 3) seconds = atof(argv[3]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE && number > 0 && number <= MOST);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_barrier_init(&meeting, NULL, number);
    for (int i = 0; i < number; i++) {
        threads[i].number = i;
        pthread_mutex_init(&threads[i].lock, NULL);
        pthread_cond_init(&threads[i].changed, NULL);
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
        write_down(&threads[i], DUP, 0, 0);
    }
    for (int i = 0; i < number; i++) pthread_create(&threads[i].id, NULL, work, &threads[i]);
    for (int i = 0; i < number; i++) pthread_join(threads[i].id, NULL);
    for (int i = 0; i < number; i++) {
        MPI_Comm_free(&threads[i].comm);
        write_down(&threads[i], FREE, 0, 0);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        struct entry sum = {0};
        for (int i = 0; i < number; i++) {
            sum.calls += threads[i].entries[kind].calls;
            sum.sent += threads[i].entries[kind].sent;
            sum.received += threads[i].entries[kind].received;
        }
        length += snprintf(text + length, sizeof text - length, "MPI_%s %ld %ld %ld\n", names[kind], sum.calls, sum.sent, sum.received);
    }
    fwrite(text, 1, length, stdout);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

/* Ranks 0 and 1 send messages to rank 2 far ahead of their receives, in bursts of which only a part is received before the next one. Each
 * sender and the receiver work between messages. Rank 0 prints what rank 2 waited in all, by the rules of docs/mpi.md. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>

#define MESSAGES 400

static const struct { int sent, received; } bursts[] = {{100, 30}, {200, 150}, {240, 240}, {300, 300}, {400, 400}};
static unsigned state = 4711;
static uint64_t *blocks;

static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

/* What rank r works before it sends or receives its message of this number. */
static uint64_t efforts[3][2 * MESSAGES];

static void work(int number)
{
    if (blocks) *blocks += efforts[rank][number];
}

/* Messages have two tags, and those of a sender are received two by two in the other order. */
static int sender_of(int receive) { return receive % 2; }
static int number_of(int receive) { return receive / 2 ^ 1; }

int main(int argc, char **argv)
{
    MPI_Comm apart;
    MPI_Request made;
    int value, sent = 0, received = 0;
    uint64_t sent_at[2][MESSAGES], clock[3] = {0, 0, 0}, waited = 0;
    start(&argc, &argv);
    CHECK(size == 3);
    blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    for (int i = 0; i < 2 * MESSAGES; i++)
        for (int r = 0; r < 3; r++) efforts[r][i] = draw(r == 2 ? 2500 : 5000);
    /* No clocks travel on this one. */
    MPI_Comm_idup(MPI_COMM_WORLD, &apart, &made);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
    for (int burst = 0; burst < (int)(sizeof bursts / sizeof *bursts); burst++) {
        for (; sent < bursts[burst].sent; sent++)
            if (rank < 2) {
                work(sent);
                MPI_Send(&sent, 1, MPI_INT, 2, sent % 2, MPI_COMM_WORLD);
            }
        MPI_Barrier(apart);
        for (; received < 2 * bursts[burst].received; received++)
            if (rank == 2) {
                work(received);
                MPI_Recv(&value, 1, MPI_INT, sender_of(received), number_of(received) % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(value == number_of(received));
            }
        MPI_Barrier(apart);
    }
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < MESSAGES; i++) sent_at[r][i] = clock[r] += efforts[r][i];
    for (int i = 0; i < 2 * MESSAGES; i++) {
        uint64_t arrives = sent_at[sender_of(i)][number_of(i)] + 1000 + sizeof value / 8;
        clock[2] += efforts[2][i];
        if (arrives > clock[2]) {
            waited += arrives - clock[2];
            clock[2] = arrives;
        }
    }
    if (rank == 0) printf("MPI_Recv %llu\n", (unsigned long long)waited);
    MPI_Comm_free(&apart);
    MPI_Finalize();
    return 0;
}

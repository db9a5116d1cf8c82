/* The same messages and collective operations in three parts. Called with "off", the program has no record of the MPI operations of
 * the second; with another argument the reductions call back a function that executes a few blocks. Each rank keeps a ledger of what the
 * record should hold, which rank 0 prints: operation, then for each rank calls, bytes sent and bytes received. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>

enum operation { SENDRECV, ALLREDUCE, ISEND, IRECV, WAITALL, OPERATIONS };
static const char *const names[] = {"MPI_Sendrecv", "MPI_Allreduce", "MPI_Isend", "MPI_Irecv", "MPI_Waitall"};
static const char *const parts[] = {"before", "meanwhile", "after"};

static uint64_t *blocks; /* the runtime's counter */
static uint64_t ledger[3][OPERATIONS][3];
static int part, is_on = 1;

static void note(enum operation operation, uint64_t sent, uint64_t received)
{
    uint64_t *entry = ledger[part][operation];
    if (!is_on) return;
    entry[0] += 1;
    entry[1] += sent;
    entry[2] += received;
}

static char in[4096], out[4096];
static MPI_Request requests[2];

static MPI_Op sum;

/* Too small to be a call path of its own. */
static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) ((uint64_t *)inout)[i] += ((uint64_t *)in)[i];
    if (blocks) *blocks += 7;
}

static void work(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    uint64_t one = 1, all;
    for (int i = 0; i <= part; i++) {
        if (blocks) *blocks += 1000u * (unsigned)((rank * 7 + part * 5 + i * 3) % 11);
        MPI_Sendrecv(out, 16 * (rank + part + 1), MPI_BYTE, next, i, in, 4096, MPI_BYTE, before, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        note(SENDRECV, 16 * (uint64_t)(rank + part + 1), 16 * (uint64_t)(before + part + 1));
    }
    MPI_Allreduce(&one, &all, 1, MPI_UINT64_T, sum, MPI_COMM_WORLD);
    note(ALLREDUCE, sizeof one, sizeof all);
    CHECK(all == (uint64_t)size);
}

/* A receive is credited where it completes: begun in one part, and in the next one there is a record of it if that has one. */
static void begin(void)
{
    MPI_Irecv(in, 4096, MPI_BYTE, (rank + size - 1) % size, 99, MPI_COMM_WORLD, &requests[0]);
    note(IRECV, 0, 0);
    MPI_Isend(out, 80, MPI_BYTE, (rank + 1) % size, 99, MPI_COMM_WORLD, &requests[1]);
    note(ISEND, 80, 0);
}

static void end(void)
{
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    note(WAITALL, 0, 80);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int is_off = argc > 1 && strcmp(argv[1], "off") == 0;
    blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    sum = MPI_SUM;
    if (argc > 2) MPI_Op_create(add, 1, &sum);
    MPI_Pcontrol(2); /* Nothing is buffered that would be flushed, */
    MPI_Pcontrol(7); /* and other levels have no meaning. */
    CASE("before", work(); begin());
    part = 1;
    if (is_off) {
        MPI_Pcontrol(0, "arguments after the level", 2.5);
        is_on = 0;
    }
    CASE("meanwhile", end(); work(); begin());
    part = 2;
    if (is_off) {
        MPI_Pcontrol(1);
        is_on = 1;
    }
    CASE("after", end(); work());
    /* What brings the ledgers together has no record either. */
    MPI_Pcontrol(0);
    for (part = 0; part < 3; part++)
        for (int operation = 0; operation < OPERATIONS; operation++) {
            uint64_t all[3 * 16];
            MPI_Gather(ledger[part][operation], 3, MPI_UINT64_T, all, 3, MPI_UINT64_T, 0, MPI_COMM_WORLD);
            if (rank) continue;
            printf("%s %s", parts[part], names[operation]);
            for (int i = 0; i < 3 * size; i++) printf(" %llu", (unsigned long long)all[i]);
            printf("\n");
        }
    MPI_Finalize();
    return 0;
}

/* Random work, messages and collective operations, the same sequence on all ranks. Each rank also keeps the logical clocks of all
 * ranks, by the rules of docs/mpi.md written once more here, and rank 0 prints for each operation what every rank waited. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>
#include <string.h>

#define MOST 16
#define LENGTH 4096

enum operation {
    RECV, WAIT, WAITALL, SENDRECV, MRECV, TEST, BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, GATHERV, SCATTERV,
    ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, SCAN, EXSCAN, REDUCE_SCATTER_BLOCK, NEIGHBOR_ALLTOALL, OPERATIONS
};
static const char *const names[] = {
    "Recv", "Wait", "Waitall", "Sendrecv", "Mrecv", "Test", "Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter",
    "Gatherv", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Scan", "Exscan", "Reduce_scatter_block",
    "Neighbor_alltoall"};

static uint64_t *blocks; /* the runtime's counter; NULL where nothing is measured */
static uint64_t clocks[MOST], waited[OPERATIONS][MOST];
static unsigned state = 12345;
static char in[MOST * LENGTH], out[MOST * LENGTH];

static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

/* Every rank works; this one really. */
static void work(void)
{
    for (int r = 0; r < size; r++) {
        unsigned effort = draw(9000);
        clocks[r] += effort;
        if (r == rank && blocks) *blocks += effort;
    }
}

static void wait_for(enum operation operation, int r, uint64_t until)
{
    if (until > clocks[r]) {
        waited[operation][r] += until - clocks[r];
        clocks[r] = until;
    }
}

/* What a message sent at `sent` is for its receiver. */
static uint64_t arrives(uint64_t sent, int bytes) { return sent + 1000 + (uint64_t)bytes / 8; }

static uint64_t levels(int ranks)
{
    uint64_t levels = 0;
    while (1 << levels < ranks) levels++;
    return levels;
}

/* All ranks of `needs[r]` are needed by r, who then pays for `bytes[r]`. */
static void collective(enum operation operation, char needs[MOST][MOST], const int *bytes)
{
    uint64_t before[MOST];
    memcpy(before, clocks, sizeof before);
    for (int r = 0; r < size; r++) {
        int any = 0;
        for (int s = 0; s < size; s++)
            if (needs[r][s]) {
                any = 1;
                wait_for(operation, r, before[s]);
            }
        if (any) clocks[r] += 1000 * levels(size) + (uint64_t)bytes[r] / 8;
    }
}

static void ring(int kind, int bytes)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, flag, tag = (int)draw(3), root = (int)draw(size);
    uint64_t latest;
    uint64_t then[MOST];
    MPI_Request requests[4];
    MPI_Message message;
    memcpy(then, clocks, sizeof then);
    switch (kind) {
    case 1: /* two of one tag, completed in the other order */
        for (int i = 0; i < 2; i++) MPI_Irecv(out + i * LENGTH, LENGTH, MPI_BYTE, before, tag, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(in, bytes, MPI_BYTE, next, tag, MPI_COMM_WORLD, &requests[2]);
        if (blocks) *blocks += 5000;
        MPI_Isend(in, bytes + 64, MPI_BYTE, next, tag, MPI_COMM_WORLD, &requests[3]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Waitall(2, &requests[2], MPI_STATUSES_IGNORE);
        for (int r = 0; r < size; r++) clocks[r] += 5000;
        for (int r = 0; r < size; r++) {
            uint64_t from = then[(r + size - 1) % size];
            wait_for(WAIT, r, arrives(from + 5000, bytes + 64));
            wait_for(WAIT, r, arrives(from, bytes));
        }
        break;
    case 2:
        MPI_Sendrecv(in, bytes, MPI_BYTE, next, tag, out, LENGTH, MPI_BYTE, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++) wait_for(SENDRECV, r, arrives(then[(r + size - 1) % size], bytes));
        break;
    case 3:
        MPI_Isend(in, bytes, MPI_BYTE, next, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(out, LENGTH, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++) wait_for(MRECV, r, arrives(then[(r + size - 1) % size], bytes));
        break;
    case 4: /* persistent, twice */
        MPI_Recv_init(out, LENGTH, MPI_BYTE, before, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(in, bytes, MPI_BYTE, next, tag, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < 2; i++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            memcpy(then, clocks, sizeof then);
            for (int r = 0; r < size; r++) wait_for(WAITALL, r, arrives(then[(r + size - 1) % size], bytes));
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        break;
    case 6: /* three that do not wait, completed in another order */
        MPI_Iallreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &requests[0]);
        if (blocks) *blocks += 3000 * (uint64_t)rank;
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        MPI_Ibcast(in + LENGTH, bytes + 8, MPI_BYTE, root, MPI_COMM_WORLD, &requests[2]);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int r = 0; r < size; r++) clocks[r] += 3000 * (uint64_t)r;
        latest = 0;
        for (int r = 0; r < size; r++)
            if (clocks[r] > latest) latest = clocks[r];
        uint64_t at_root = clocks[root], first = 0;
        for (int r = 0; r < size; r++)
            if (then[r] > first) first = then[r];
        for (int r = 0; r < size; r++) {
            wait_for(WAIT, r, at_root);
            clocks[r] += 1000 * levels(size) + (uint64_t)(bytes + 8) / 8;
            if (bytes) {
                wait_for(WAITALL, r, first);
                clocks[r] += 1000 * levels(size) + (uint64_t)bytes / 8;
            }
            wait_for(WAITALL, r, latest);
            clocks[r] += 1000 * levels(size);
        }
        break;
    default: /* asked for until it is there, with work that is none in between, from whomever */
        MPI_Isend(in, bytes, MPI_BYTE, next, tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(out, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        for (flag = 0; !flag;) {
            MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            if (!flag && blocks) *blocks += 77;
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++) wait_for(TEST, r, arrives(then[(r + size - 1) % size], bytes));
    }
}

/* Sends and receives in a ring where the odd ranks receive first. */
static void blocking_ring(int bytes)
{
    uint64_t then[MOST];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    if (size % 2) return;
    if (rank % 2 == 0) MPI_Send(in, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
    MPI_Recv(out, LENGTH, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2) MPI_Send(in, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD);
    for (int parity = 1; parity >= 0; parity--) {
        memcpy(then, clocks, sizeof then);
        for (int r = parity; r < size; r += 2) wait_for(RECV, r, arrives(then[(r + size - 1) % size], bytes));
    }
}

static void everybody(enum operation operation, MPI_Comm grid)
{
    char needs[MOST][MOST] = {{0}};
    int bytes[MOST], counts[MOST], places[MOST], mine[MOST], n = 8 * (1 + (int)draw(60)), root = (int)draw(size);
    for (int r = 0; r < size; r++) {
        counts[r] = draw(2) ? n : 0;
        places[r] = r * LENGTH;
        bytes[r] = n;
        for (int s = 0; s < size; s++) needs[r][s] = 1;
    }
    switch (operation) {
    case BARRIER:
        MPI_Barrier(MPI_COMM_WORLD);
        memset(bytes, 0, sizeof bytes);
        break;
    case BCAST:
        MPI_Bcast(in, n, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) memset(needs[r], 0, MOST), needs[r][root] = 1;
        break;
    case REDUCE:
        MPI_Reduce(in, out, n, MPI_BYTE, MPI_BOR, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) if (r != root) memset(needs[r], 0, MOST);
        break;
    case ALLREDUCE: MPI_Allreduce(in, out, n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD); break;
    case GATHER:
        MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) if (r != root) memset(needs[r], 0, MOST);
        bytes[root] = n * size;
        break;
    case SCATTER:
        MPI_Scatter(in, n, MPI_BYTE, out, n, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) memset(needs[r], 0, MOST), needs[r][root] = 1;
        break;
    case GATHERV:
        MPI_Gatherv(in, counts[rank], MPI_BYTE, out, counts, places, MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int s = 0; s < size; s++) needs[r][s] = r == root && s != root && counts[s];
        for (int s = bytes[root] = 0; s < size; s++) bytes[root] += counts[s];
        break;
    case SCATTERV:
        MPI_Scatterv(in, counts, places, MPI_BYTE, out, counts[rank], MPI_BYTE, root, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int s = 0; s < size; s++) needs[r][s] = s == root && r != root && counts[r];
        break;
    case ALLGATHER:
        MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) bytes[r] = n * size;
        break;
    case ALLGATHERV:
        MPI_Allgatherv(in, counts[rank], MPI_BYTE, out, counts, places, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) {
            for (int s = bytes[r] = 0; s < size; s++) bytes[r] += counts[s];
            for (int s = 0; s < size; s++) needs[r][s] = counts[s] > 0;
        }
        break;
    case ALLTOALL:
        MPI_Alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++) bytes[r] = n * size;
        break;
    case ALLTOALLV: /* rank r sends to those that are counts[r] and the distance odd */
        for (int s = 0; s < size; s++) mine[s] = (s - rank + size) % 2 ? counts[rank] : 0;
        {
            int theirs[MOST];
            for (int r = 0; r < size; r++) {
                bytes[r] = 0;
                int own = 0;
                for (int s = 0; s < size; s++) {
                    int moved = (r - s + size) % 2 ? counts[s] : 0;
                    if (r == rank) theirs[s] = moved;
                    needs[r][s] = s != r && moved;
                    bytes[r] += moved;
                    own += (s - r + size) % 2 ? counts[r] : 0;
                }
                if (!bytes[r]) bytes[r] = own;
            }
            MPI_Alltoallv(in, mine, places, MPI_BYTE, out, theirs, places, MPI_BYTE, MPI_COMM_WORLD);
        }
        break;
    case SCAN:
        MPI_Scan(in, out, n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int s = r + 1; s < size; s++) needs[r][s] = 0;
        break;
    case EXSCAN:
        MPI_Exscan(in, out, n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int s = r; s < size; s++) needs[r][s] = 0;
        break;
    case REDUCE_SCATTER_BLOCK: MPI_Reduce_scatter_block(in, out, n, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD); break;
    case NEIGHBOR_ALLTOALL: /* a line of ranks */
        MPI_Neighbor_alltoall(in, n, MPI_BYTE, out, n, MPI_BYTE, grid);
        for (int r = 0; r < size; r++) {
            memset(needs[r], 0, MOST);
            bytes[r] = 0;
            if (r > 0) needs[r][r - 1] = 1, bytes[r] += n;
            if (r + 1 < size) needs[r][r + 1] = 1, bytes[r] += n;
        }
        break;
    default: break;
    }
    collective(operation, needs, bytes);
}

/* Even and odd ranks by themselves: the clocks of both groups. */
static void halves(MPI_Comm half)
{
    int n = 8 * (1 + (int)draw(60));
    uint64_t latest[2] = {0, 0};
    MPI_Allreduce(in, out, n, MPI_BYTE, MPI_BOR, half);
    for (int r = 0; r < size; r++)
        if (clocks[r] > latest[r % 2]) latest[r % 2] = clocks[r];
    for (int r = 0; r < size; r++) {
        wait_for(ALLREDUCE, r, latest[r % 2]);
        clocks[r] += 1000 * levels((size + 1 - r % 2) / 2) + (uint64_t)n / 8;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm half, grid;
    int dims[1], periods[1] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    dims[0] = size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    for (int step = 0; step < 200; step++) {
        work();
        unsigned kind = draw(8);
        if (kind == 0) blocking_ring(8 * (int)draw(400));
        else if (kind <= 3) ring(1 + (int)draw(6), 8 * (int)draw(400));
        else if (kind == 4) halves(half);
        else everybody((enum operation)(BARRIER + (int)draw(OPERATIONS - BARRIER)), grid);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&grid);
    if (rank == 0)
        for (int o = 0; o < OPERATIONS; o++) {
            printf("MPI_%s", names[o]);
            for (int r = 0; r < size; r++) printf(" %llu", (unsigned long long)waited[o][r]);
            printf("\n");
        }
    MPI_Finalize();
    return 0;
}

/* Operations with drawn counts, types, roots and communicators, and a ledger of its own: what a rank sends and receives is the sum of the blocks that go from rank
 * to rank, worked out for each pair of ranks. Each rank prints the sums, one line "function calls sent received" each. The first argument is the seed, the second
 * how many operations; all ranks draw the same. */
#include "cases.h"

#define MOST 64
static struct {
    char name[32];
    long calls, sent, received;
} ledger[MOST];

static void write_down(const char *kind, int is_nonblocking, long sent, long received)
{
    char name[32];
    int i = 0;
    snprintf(name, sizeof name, is_nonblocking ? "MPI_I%s" : "MPI_%s", kind);
    if (is_nonblocking) name[5] = (char)(name[5] + 'a' - 'A');
    while (ledger[i].name[0] && strcmp(ledger[i].name, name)) i++;
    strcpy(ledger[i].name, name);
    ledger[i].calls++, ledger[i].sent += sent, ledger[i].received += received;
}

static uint64_t seed, turn;

/* The same on all ranks for the same arguments; below `most`. */
static int drawn(int what, int one, int other, int most)
{
    uint64_t x = (((seed * 1000003 + turn) * 31 + (uint64_t)what) * 1009 + (uint64_t)one) * 1009 + (uint64_t)other;
    for (int i = 0; i < 3; i++) x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (int)((x >> 33) % (uint64_t)most);
}

enum { OPERATION, TYPE, COMM, ROOT, PLACE, FORM, COUNT };
enum { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
       SCAN, EXSCAN, RING, KINDS };
static const char *names[] = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce",
    "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"};

static int kind, root, me, ranks, is_symmetric;

/* How many elements go from a rank to another. */
static int count(int from, int to)
{
    switch (kind) {
    case BCAST: return from == root ? drawn(COUNT, 0, 0, 9) : 0;
    case GATHER: return to == root ? drawn(COUNT, 0, 0, 9) : 0;
    case GATHERV: return to == root ? drawn(COUNT, from, 0, 9) : 0;
    case SCATTER: return from == root ? drawn(COUNT, 0, 0, 9) : 0;
    case SCATTERV: return from == root ? drawn(COUNT, to, 0, 9) : 0;
    case ALLGATHER: case ALLTOALL: return drawn(COUNT, 0, 0, 9);
    case ALLGATHERV: return drawn(COUNT, from, 0, 9);
    default: return is_symmetric && from > to ? drawn(COUNT, to, from, 9) : drawn(COUNT, from, to, 9);
    }
}

/* Nine ranks with at most eight elements of at most 48 bytes each. */
static char in[8192], out[8192];

static void one(MPI_Comm comm)
{
    static MPI_Datatype types[4];
    static const int sizes[] = {4, 8, 1, 24};
    if (!types[0]) {
        types[0] = MPI_INT, types[1] = MPI_DOUBLE, types[2] = MPI_CHAR;
        /* With gaps: three times two ints of five. */
        MPI_Type_vector(3, 2, 5, MPI_INT, &types[3]);
        MPI_Type_commit(&types[3]);
    }
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    kind = drawn(OPERATION, 0, 0, KINDS), root = drawn(ROOT, 0, 0, ranks);
    int t = drawn(TYPE, 0, 0, kind >= REDUCE && kind < RING ? 2 : 4), later = kind < RING && drawn(FORM, 0, 0, 2);
    MPI_Datatype type = types[t], all_types[9];
    int to[9], from[9], to_places[9], from_places[9], most = 8 * 48, n = drawn(COUNT, 0, 0, 9);
    int may_be_in_place = kind != BCAST && kind != EXSCAN && kind != RING && !(later && kind >= ALLTOALL && kind <= ALLTOALLW);
    int is_in_place = may_be_in_place && drawn(PLACE, 0, 0, 2), is_rooted = kind <= SCATTERV || kind == REDUCE;
    int own_in_place = is_in_place && (!is_rooted || me == root);
    long sent = 0, received = 0;
    is_symmetric = is_in_place;
    for (int i = 0; i < ranks; i++) {
        to[i] = count(me, i), from[i] = count(i, me), all_types[i] = type;
        /* In elements; in bytes where each block has its own type. */
        to_places[i] = from_places[i] = kind == ALLTOALLW ? i * most : 8 * i;
        if (own_in_place && i == me) continue;
        sent += (long)to[i] * sizes[t], received += (long)from[i] * sizes[t];
    }
    void *given = own_in_place ? MPI_IN_PLACE : (void *)in;
    MPI_Request request;
    switch (kind) {
    case BCAST:
        n = count(root, 0);
        later ? MPI_Ibcast(in, n, type, root, comm, &request) : MPI_Bcast(in, n, type, root, comm);
        break;
    case GATHER:
        n = count(0, root);
        later ? MPI_Igather(given, n, type, out, n, type, root, comm, &request) : MPI_Gather(given, n, type, out, n, type, root, comm);
        break;
    case GATHERV:
        later ? MPI_Igatherv(given, to[root], type, out, from, from_places, type, root, comm, &request)
              : MPI_Gatherv(given, to[root], type, out, from, from_places, type, root, comm);
        break;
    case SCATTER:
        n = count(root, 0);
        later ? MPI_Iscatter(in, n, type, own_in_place ? MPI_IN_PLACE : out, n, type, root, comm, &request)
              : MPI_Scatter(in, n, type, own_in_place ? MPI_IN_PLACE : out, n, type, root, comm);
        break;
    case SCATTERV:
        later ? MPI_Iscatterv(in, to, to_places, type, own_in_place ? MPI_IN_PLACE : out, from[root], type, root, comm, &request)
              : MPI_Scatterv(in, to, to_places, type, own_in_place ? MPI_IN_PLACE : out, from[root], type, root, comm);
        break;
    case ALLGATHER:
        later ? MPI_Iallgather(given, n, type, out, n, type, comm, &request) : MPI_Allgather(given, n, type, out, n, type, comm);
        break;
    case ALLGATHERV:
        later ? MPI_Iallgatherv(given, to[0], type, out, from, from_places, type, comm, &request)
              : MPI_Allgatherv(given, to[0], type, out, from, from_places, type, comm);
        break;
    case ALLTOALL:
        later ? MPI_Ialltoall(given, n, type, out, n, type, comm, &request) : MPI_Alltoall(given, n, type, out, n, type, comm);
        break;
    case ALLTOALLV:
        later ? MPI_Ialltoallv(given, to, to_places, type, out, from, from_places, type, comm, &request)
              : MPI_Alltoallv(given, to, to_places, type, out, from, from_places, type, comm);
        break;
    case ALLTOALLW:
        later ? MPI_Ialltoallw(given, to, to_places, all_types, out, from, from_places, all_types, comm, &request)
              : MPI_Alltoallw(given, to, to_places, all_types, out, from, from_places, all_types, comm);
        break;
    /* What is combined is given once, whatever becomes of it, unless nobody else needs it; and a result is received once. */
    case REDUCE:
        sent = own_in_place ? 0 : n * sizes[t], received = me == root ? n * sizes[t] : 0;
        later ? MPI_Ireduce(given, out, n, type, MPI_SUM, root, comm, &request) : MPI_Reduce(given, out, n, type, MPI_SUM, root, comm);
        break;
    case ALLREDUCE:
        sent = received = n * sizes[t];
        later ? MPI_Iallreduce(given, out, n, type, MPI_SUM, comm, &request) : MPI_Allreduce(given, out, n, type, MPI_SUM, comm);
        break;
    case REDUCE_SCATTER:
        sent = 0;
        for (int i = 0; i < ranks; i++) from[i] = drawn(COUNT, i, i, 9), sent += from[i] * sizes[t];
        received = from[me] * sizes[t];
        later ? MPI_Ireduce_scatter(given, out, from, type, MPI_SUM, comm, &request) : MPI_Reduce_scatter(given, out, from, type, MPI_SUM, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        sent = ranks * n * sizes[t], received = n * sizes[t];
        later ? MPI_Ireduce_scatter_block(given, out, n, type, MPI_SUM, comm, &request)
              : MPI_Reduce_scatter_block(given, out, n, type, MPI_SUM, comm);
        break;
    case SCAN:
        sent = received = n * sizes[t];
        later ? MPI_Iscan(given, out, n, type, MPI_SUM, comm, &request) : MPI_Scan(given, out, n, type, MPI_SUM, comm);
        break;
    case EXSCAN:
        sent = me == ranks - 1 ? 0 : n * sizes[t], received = me == 0 ? 0 : n * sizes[t];
        later ? MPI_Iexscan(given, out, n, type, MPI_SUM, comm, &request) : MPI_Exscan(given, out, n, type, MPI_SUM, comm);
        break;
    default: {
        /* To the next rank, which has room for more; its neighbour's count is its own draw. */
        int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
        MPI_Request both[2];
        MPI_Status statuses[2];
        MPI_Irecv(out, 9, type, before, 1, comm, &both[0]);
        MPI_Isend(in, drawn(COUNT, me, 0, 9), type, next, 1, comm, &both[1]);
        MPI_Waitall(2, both, statuses);
        write_down("Irecv", 0, 0, 0);
        write_down("Isend", 0, (long)drawn(COUNT, me, 0, 9) * sizes[t], 0);
        write_down("Waitall", 0, 0, (long)drawn(COUNT, before, 0, 9) * sizes[t]);
        return;
    }
    }
    write_down(names[kind], later, sent, received);
    if (later) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        write_down("Wait", 0, 0, 0);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comms[4];
    start(&argc, &argv);
    CHECK(argc == 3 && size <= 9);
    seed = strtoull(argv[1], NULL, 10);
    comms[0] = MPI_COMM_WORLD, comms[1] = MPI_COMM_SELF;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, 3 * rank < size, rank, &comms[3]);
    for (turn = 0; turn < strtoull(argv[2], NULL, 10); turn++) one(comms[drawn(COMM, 0, 0, 4)]);
    for (int i = 0; i < MOST && ledger[i].name[0]; i++)
        printf("%s %ld %ld %ld\n", ledger[i].name, ledger[i].calls, ledger[i].sent, ledger[i].received);
    MPI_Finalize();
    return 0;
}

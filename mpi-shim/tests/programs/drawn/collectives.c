/* Collective operations over a communicator, blocking and not: what a rank sends and receives is the sum over all ranks of the blocks that go from it and to it. */
#include "drawn.h"

enum { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
       SCAN, EXSCAN, KINDS };
static const char *names[] = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce",
    "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"};

static int kind, root, me, ranks, is_symmetric;

/* How many elements go from a rank to another. */
static int count(int from, int to)
{
    switch (kind) {
    case BCAST: return from == root ? elements(0, 0) : 0;
    case GATHER: return to == root ? elements(0, 0) : 0;
    case GATHERV: return to == root ? elements(from, 0) : 0;
    case SCATTER: return from == root ? elements(0, 0) : 0;
    case SCATTERV: return from == root ? elements(to, 0) : 0;
    case ALLGATHER: case ALLTOALL: return elements(0, 0);
    case ALLGATHERV: return elements(from, 0);
    default: return is_symmetric && from > to ? elements(to, from) : elements(from, to);
    }
}

void collective(int number, int at)
{
    MPI_Comm comm = comms[at];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    kind = number % KINDS, root = drawn(ROOT, 0, 0, ranks);
    int t = drawn(TYPE, 0, 0, kind >= REDUCE ? 2 : TYPES), later = number / KINDS % 2;
    MPI_Datatype type = types[t], all_types[RANKS];
    int to[RANKS], from[RANKS], to_places[RANKS], from_places[RANKS], n = elements(0, 0);
    int may_be_in_place = kind != BCAST && kind != EXSCAN && !(later && kind >= ALLTOALL && kind <= ALLTOALLW);
    int is_in_place = may_be_in_place && drawn(PLACE, 0, 0, 2), is_rooted = kind <= SCATTERV || kind == REDUCE;
    int own_in_place = is_in_place && (!is_rooted || me == root);
    long sent = 0, received = 0;
    is_symmetric = is_in_place;
    for (int i = 0; i < ranks; i++) {
        to[i] = count(me, i), from[i] = count(i, me), all_types[i] = type;
        /* In elements; in bytes where each block has its own type. */
        to_places[i] = from_places[i] = kind == ALLTOALLW ? i * BLOCK : ELEMENTS * i;
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
        for (int i = 0; i < ranks; i++) from[i] = elements(i, i), sent += from[i] * sizes[t];
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
    default:
        sent = me == ranks - 1 ? 0 : n * sizes[t], received = me == 0 ? 0 : n * sizes[t];
        later ? MPI_Iexscan(given, out, n, type, MPI_SUM, comm, &request) : MPI_Exscan(given, out, n, type, MPI_SUM, comm);
        break;
    }
    write_down(later ? "I" : "", names[kind], sent, received);
    if (later) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        write_down("", "Wait", 0, 0);
    }
}

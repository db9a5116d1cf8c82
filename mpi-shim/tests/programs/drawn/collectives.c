/* Collective operations over a communicator, blocking and not. */
#include "drawn.h"

void collective(int number, int at)
{
    struct plan plan;
    MPI_Comm comm = comms[at];
    MPI_Request request;
    int me, ranks, to_places[RANKS], from_places[RANKS];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    plan_collective(number, me, ranks, &plan);
    int n = plan.count, *to = plan.to, *from = plan.from, root = plan.root, later = plan.is_nonblocking;
    MPI_Datatype type = types[plan.type], all_types[RANKS];
    /* In elements; in bytes where each block has its own type. */
    for (int i = 0; i < ranks; i++) to_places[i] = from_places[i] = i * (plan.kind == ALLTOALLW ? BLOCK : ELEMENTS), all_types[i] = type;
    int is_scatter = plan.kind == SCATTER || plan.kind == SCATTERV;
    void *given = plan.is_in_place && !is_scatter ? MPI_IN_PLACE : (void *)in, *taken = plan.is_in_place && is_scatter ? MPI_IN_PLACE : (void *)out;
    switch (plan.kind) {
    case BCAST:
        later ? MPI_Ibcast(in, n, type, root, comm, &request) : MPI_Bcast(in, n, type, root, comm);
        break;
    case GATHER:
        later ? MPI_Igather(given, n, type, out, n, type, root, comm, &request) : MPI_Gather(given, n, type, out, n, type, root, comm);
        break;
    case GATHERV:
        later ? MPI_Igatherv(given, to[root], type, out, from, from_places, type, root, comm, &request)
              : MPI_Gatherv(given, to[root], type, out, from, from_places, type, root, comm);
        break;
    case SCATTER:
        later ? MPI_Iscatter(in, n, type, taken, n, type, root, comm, &request)
              : MPI_Scatter(in, n, type, taken, n, type, root, comm);
        break;
    case SCATTERV:
        later ? MPI_Iscatterv(in, to, to_places, type, taken, from[root], type, root, comm, &request)
              : MPI_Scatterv(in, to, to_places, type, taken, from[root], type, root, comm);
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
    case REDUCE:
        later ? MPI_Ireduce(given, out, n, type, MPI_SUM, root, comm, &request) : MPI_Reduce(given, out, n, type, MPI_SUM, root, comm);
        break;
    case ALLREDUCE:
        later ? MPI_Iallreduce(given, out, n, type, MPI_SUM, comm, &request) : MPI_Allreduce(given, out, n, type, MPI_SUM, comm);
        break;
    case REDUCE_SCATTER:
        later ? MPI_Ireduce_scatter(given, out, from, type, MPI_SUM, comm, &request) : MPI_Reduce_scatter(given, out, from, type, MPI_SUM, comm);
        break;
    case REDUCE_SCATTER_BLOCK:
        later ? MPI_Ireduce_scatter_block(given, out, n, type, MPI_SUM, comm, &request)
              : MPI_Reduce_scatter_block(given, out, n, type, MPI_SUM, comm);
        break;
    case SCAN:
        later ? MPI_Iscan(given, out, n, type, MPI_SUM, comm, &request) : MPI_Scan(given, out, n, type, MPI_SUM, comm);
        break;
    default:
        later ? MPI_Iexscan(given, out, n, type, MPI_SUM, comm, &request) : MPI_Exscan(given, out, n, type, MPI_SUM, comm);
        break;
    }
    write_down_collective(&plan);
    if (later) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        write_down("", "Wait", 0, 0);
    }
}

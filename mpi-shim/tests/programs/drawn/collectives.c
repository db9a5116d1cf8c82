/* Collective operations over a communicator, in each way to call them. */
#include "drawn.h"

void finish(int way, int starts, MPI_Request *request)
{
    for (int i = 0; way != BLOCKING && i < starts; i++) {
        if (way == PERSISTENT) MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (way == PERSISTENT) MPI_Request_free(request);
}

void collective(int number, int at)
{
    struct plan plan;
    MPI_Comm comm = comms[at];
    MPI_Request request;
    Count to[RANKS], from[RANKS];
    Place to_places[RANKS], from_places[RANKS];
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    plan_collective(number, WAYS_TO_CALL, me, ranks, &plan);
    int n = plan.count, root = plan.root, way = plan.way;
    MPI_Datatype type = types[plan.type], all_types[RANKS];
    for (int i = 0; i < ranks; i++) {
        to[i] = plan.to[i], from[i] = plan.from[i], all_types[i] = type;
        /* In elements; in bytes where each block has its own type. */
        to_places[i] = from_places[i] = i * (plan.kind == ALLTOALLW ? BLOCK : ELEMENTS);
    }
    int is_scatter = plan.kind == SCATTER || plan.kind == SCATTERV;
    void *given = plan.is_in_place && !is_scatter ? MPI_IN_PLACE : (void *)in, *taken = plan.is_in_place && is_scatter ? MPI_IN_PLACE : (void *)out;
    switch (plan.kind) {
    case BCAST: CALL_WAY(Bcast, Ibcast, in, n, type, root, comm); break;
    case GATHER: CALL_WAY(Gather, Igather, given, n, type, out, n, type, root, comm); break;
    case GATHERV: CALL_WAY(Gatherv, Igatherv, given, to[root], type, out, from, from_places, type, root, comm); break;
    case SCATTER: CALL_WAY(Scatter, Iscatter, in, n, type, taken, n, type, root, comm); break;
    case SCATTERV: CALL_WAY(Scatterv, Iscatterv, in, to, to_places, type, taken, from[root], type, root, comm); break;
    case ALLGATHER: CALL_WAY(Allgather, Iallgather, given, n, type, out, n, type, comm); break;
    case ALLGATHERV: CALL_WAY(Allgatherv, Iallgatherv, given, to[0], type, out, from, from_places, type, comm); break;
    case ALLTOALL: CALL_WAY(Alltoall, Ialltoall, given, n, type, out, n, type, comm); break;
    case ALLTOALLV: CALL_WAY(Alltoallv, Ialltoallv, given, to, to_places, type, out, from, from_places, type, comm); break;
    case ALLTOALLW: CALL_WAY(Alltoallw, Ialltoallw, given, to, to_places, all_types, out, from, from_places, all_types, comm); break;
    case REDUCE: CALL_WAY(Reduce, Ireduce, given, out, n, type, MPI_SUM, root, comm); break;
    case ALLREDUCE: CALL_WAY(Allreduce, Iallreduce, given, out, n, type, MPI_SUM, comm); break;
    case REDUCE_SCATTER: CALL_WAY(Reduce_scatter, Ireduce_scatter, given, out, from, type, MPI_SUM, comm); break;
    case REDUCE_SCATTER_BLOCK: CALL_WAY(Reduce_scatter_block, Ireduce_scatter_block, given, out, n, type, MPI_SUM, comm); break;
    case SCAN: CALL_WAY(Scan, Iscan, given, out, n, type, MPI_SUM, comm); break;
    case EXSCAN: CALL_WAY(Exscan, Iexscan, given, out, n, type, MPI_SUM, comm); break;
    default: CALL_ONE(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, comm);
    }
    write_down_collective(&plan);
    finish(way, plan.starts, &request);
}

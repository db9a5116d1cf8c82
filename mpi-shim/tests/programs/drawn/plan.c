/* What a collective operation moves: what a rank sends and receives is the sum over all ranks of the blocks that go from it and to it. What is combined is given once,
 * whatever becomes of it, unless nobody else needs it; and a result is received once. */
#include "draw.h"

static const char *names[] = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce",
    "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan", "Barrier"};

/* How many elements go from a rank to another. */
static int between(const struct plan *plan, int is_symmetric, int from, int to)
{
    int root = plan->root;
    switch (plan->kind) {
    case BCAST: case SCATTER: return from == root ? elements(0, 0) : 0;
    case GATHER: return to == root ? elements(0, 0) : 0;
    case GATHERV: return to == root ? elements(from, 0) : 0;
    case SCATTERV: return from == root ? elements(to, 0) : 0;
    case ALLGATHER: case ALLTOALL: return elements(0, 0);
    case ALLGATHERV: return elements(from, 0);
    default: return is_symmetric && from > to ? elements(to, from) : elements(from, to);
    }
}

void plan_collective(int number, int ways, int rank, int ranks, struct plan *plan)
{
    int kind = number % COLLECTIVES, way = number / COLLECTIVES % ways, root = drawn(ROOT, 0, 0, ranks);
    int type = drawn(TYPE, 0, 0, kind >= REDUCE ? 2 : TYPES), size = sizes[type], all = 0;
    int may_be_in_place = kind != BCAST && kind != EXSCAN && !(way == NONBLOCKING && kind >= ALLTOALL && kind <= ALLTOALLW);
    int has_root = kind <= SCATTERV || kind == REDUCE, is_in_place = may_be_in_place && drawn(PLACE, 0, 0, 2);
    *plan = (struct plan){.kind = kind, .way = way, .root = root, .type = type, .count = elements(0, 0)};
    plan->is_in_place = is_in_place && (!has_root || rank == root);
    for (int i = 0; i < ranks; i++) {
        plan->to[i] = between(plan, is_in_place, rank, i), plan->from[i] = between(plan, is_in_place, i, rank);
        if (kind == REDUCE_SCATTER) plan->from[i] = elements(i, i), all += plan->from[i];
        /* What stays where it is does not move. */
        if (plan->is_in_place && i == rank) continue;
        plan->sent += (long)plan->to[i] * size, plan->received += (long)plan->from[i] * size;
    }
    /* Of others MPICH 4.0 gives up communicators and types each time they end. */
    plan->starts = way == PERSISTENT && kind >= REDUCE ? 2 : 1;
    long one = (long)plan->count * size;
    switch (kind) {
    case REDUCE: plan->sent = plan->is_in_place ? 0 : one, plan->received = rank == root ? one : 0; break;
    case ALLREDUCE: case SCAN: plan->sent = plan->received = one; break;
    case REDUCE_SCATTER: plan->sent = (long)all * size, plan->received = (long)plan->from[rank] * size; break;
    case REDUCE_SCATTER_BLOCK: plan->sent = ranks * one, plan->received = one; break;
    case BARRIER: plan->sent = plan->received = 0; break;
    case EXSCAN: plan->sent = rank == ranks - 1 ? 0 : one, plan->received = rank == 0 ? 0 : one; break;
    }
}

void write_down_collective(const struct plan *plan) { write_down_way(plan->way, plan->kind != BARRIER, plan->starts, names[plan->kind], plan->sent, plan->received); }

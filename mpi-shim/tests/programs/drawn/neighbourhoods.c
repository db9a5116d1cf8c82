/* Collective operations among neighbours, in each way to call them, on grids and on graphs with drawn edges: each edge carries a block, of as many elements as this pair of ranks
 * draws where ranks may differ. Where a grid ends there is an edge to nobody. */
#include "drawn.h"

/* From ALLGATHER on. */
enum { KINDS = 5 };
static const char *names[] = {"Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"};
/* Edges of one rank, there and back; a graph has up to two from a rank to another. */
enum { EDGES = 2 * RANKS };

/* A communicator with neighbours, as this program makes them and not as MPI says that they are. */
static struct topology {
    MPI_Comm comm;
    int ins, outs, in[EDGES], out[EDGES];
} topologies[COMMS];

static int me, ranks;

/* A grid with as many columns as fit, with drawn periods; neighbours stand below and above in each dimension. */
static void make_grid(struct topology *topology, MPI_Comm comm)
{
    int columns = ranks % 3 == 0 ? 3 : ranks % 2 == 0 ? 2 : 1, dims[2] = {ranks / columns, columns}, periods[2], own[2] = {me / columns, me % columns};
    for (int d = 0; d < 2; d++) {
        periods[d] = drawn(EDGE, d, 0, 2);
        for (int step = -1; step <= 1; step += 2) {
            int to[2] = {own[0], own[1]}, is_there = periods[d] || (own[d] + step >= 0 && own[d] + step < dims[d]);
            to[d] = (own[d] + step + dims[d]) % dims[d];
            topology->out[topology->outs++] = is_there ? to[0] * columns + to[1] : MPI_PROC_NULL;
        }
    }
    for (int i = 0; i < topology->outs; i++) topology->in[topology->ins++] = topology->out[i];
    MPI_Cart_create(comm, 2, dims, periods, 0, &topology->comm), write_down("", "Cart_create", 0, 0);
}

/* As many edges from each rank to each as they draw, none, one or two. */
static void make_graph(struct topology *topology, MPI_Comm comm)
{
    for (int i = 0; i < ranks; i++) {
        for (int edge = 0; edge < drawn(EDGE, i, me, 3); edge++) topology->in[topology->ins++] = i;
        for (int edge = 0; edge < drawn(EDGE, me, i, 3); edge++) topology->out[topology->outs++] = i;
    }
    MPI_Dist_graph_create_adjacent(comm, topology->ins, topology->in, MPI_UNWEIGHTED, topology->outs, topology->out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &topology->comm);
    write_down("", "Dist_graph_create_adjacent", 0, 0);
}

/* How many elements an edge carries; both of two edges as many, so that it does not matter which of them is which. */
static int count(int kind, int from, int to)
{
    /* A number that MPI must not look at. */
    if (from == MPI_PROC_NULL || to == MPI_PROC_NULL) return 3;
    return kind == ALLGATHER || kind == ALLTOALL ? elements(0, 0) : elements(from, kind == ALLGATHERV ? 0 : to);
}

void neighbourhood(int number, int at)
{
    int kind = ALLGATHER + number % KINDS;
    /* A grid: MPICH 4.0 takes too few arguments where a rank has more neighbours on one side than on the other (pmodels/mpich#6233). */
    if (kind == ALLTOALLW) at |= 1;
    struct topology *topology = &topologies[at];
    MPI_Comm_rank(comms[at], &me);
    MPI_Comm_size(comms[at], &ranks);
    if (!topology->comm) at % 2 == 0 ? make_graph(topology, comms[at]) : make_grid(topology, comms[at]);
    MPI_Comm comm = topology->comm;
    int way = number / KINDS % WAYS_TO_CALL, t = drawn(TYPE, 0, 0, TYPES), n = count(kind, me, 0);
    Count to[EDGES], from[EDGES];
    Place places[EDGES];
    MPI_Aint bytewise[EDGES];
    MPI_Datatype type = types[t], all_types[EDGES];
    MPI_Request request;
    long sent = 0, received = 0;
    for (int i = 0; i < EDGES; i++) {
        places[i] = ELEMENTS * i, bytewise[i] = BLOCK * i, all_types[i] = type;
        if (i < topology->outs) to[i] = count(kind, me, topology->out[i]);
        if (i < topology->ins) from[i] = count(kind, topology->in[i], me);
        if (i < topology->outs && topology->out[i] != MPI_PROC_NULL) sent += (long)to[i] * sizes[t];
        if (i < topology->ins && topology->in[i] != MPI_PROC_NULL) received += (long)from[i] * sizes[t];
    }
    switch (kind) {
    case ALLGATHER: CALL_WAY(Neighbor_allgather, Ineighbor_allgather, in, n, type, out, n, type, comm); break;
    case ALLGATHERV: CALL_WAY(Neighbor_allgatherv, Ineighbor_allgatherv, in, n, type, out, from, places, type, comm); break;
    case ALLTOALL: CALL_WAY(Neighbor_alltoall, Ineighbor_alltoall, in, n, type, out, n, type, comm); break;
    case ALLTOALLV: CALL_WAY(Neighbor_alltoallv, Ineighbor_alltoallv, in, to, places, type, out, from, places, type, comm); break;
    default: CALL_WAY(Neighbor_alltoallw, Ineighbor_alltoallw, in, to, bytewise, all_types, out, from, bytewise, all_types, comm);
    }
    write_down_way(way, 1, 1, names[kind - ALLGATHER], sent, received);
    finish(way, 1, &request);
}

void end_neighbourhoods(void)
{
    for (int i = 0; i < COMMS; i++)
        if (topologies[i].comm) MPI_Comm_free(&topologies[i].comm), write_down("", "Comm_free", 0, 0);
}

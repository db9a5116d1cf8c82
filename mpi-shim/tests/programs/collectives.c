/* Every collective operation once, with few elements of known size, on any number of ranks up to 16. */
#include "cases.h"

#define MOST 16
/* Arguments without meaning at this rank: what they hold must not be looked at. */
#define JUNK_TYPE MPI_DATATYPE_NULL
#define JUNK_COUNT (-77)
#define JUNK_POINTER ((void *)(uintptr_t)8)

static int in[8 * MOST], out[8 * MOST], counts[MOST], places[MOST], one_each[MOST], bytewise[MOST];
static MPI_Datatype ints[MOST];
static long checksum;

static void reset(void)
{
    for (int i = 0; i < 8 * MOST; i++) {
        checksum = checksum * 31 + out[i];
        in[i] = 100 * rank + i;
        out[i] = -1;
    }
}

static void moved(MPI_Comm comm, int root)
{
    int at_root = rank == root;
    CASE("bcast", MPI_Bcast(in, 5, MPI_INT, root, comm));
    reset();
    CASE("gather", MPI_Gather(in, 3, MPI_INT, at_root ? out : JUNK_POINTER, at_root ? 3 : JUNK_COUNT,
                              at_root ? MPI_INT : JUNK_TYPE, root, comm));
    reset();
    CASE("gather_in_place", MPI_Gather(at_root ? MPI_IN_PLACE : in, at_root ? JUNK_COUNT : 3,
                                       at_root ? JUNK_TYPE : MPI_INT, out, 3, MPI_INT, root, comm));
    reset();
    /* Rank r contributes r + 1. */
    CASE("gatherv", MPI_Gatherv(in, rank + 1, MPI_INT, out, at_root ? counts : JUNK_POINTER,
                                at_root ? places : JUNK_POINTER, at_root ? MPI_INT : JUNK_TYPE, root, comm));
    reset();
    CASE("gatherv_in_place", MPI_Gatherv(at_root ? MPI_IN_PLACE : in, rank + 1, MPI_INT, out, counts, places, MPI_INT,
                                         root, comm));
    reset();
    CASE("scatter", MPI_Scatter(at_root ? in : JUNK_POINTER, at_root ? 2 : JUNK_COUNT, at_root ? MPI_INT : JUNK_TYPE,
                                out, 2, MPI_INT, root, comm));
    reset();
    CASE("scatter_in_place", MPI_Scatter(in, 2, MPI_INT, at_root ? MPI_IN_PLACE : out, at_root ? JUNK_COUNT : 2,
                                         at_root ? JUNK_TYPE : MPI_INT, root, comm));
    reset();
    CASE("scatterv", MPI_Scatterv(in, at_root ? counts : JUNK_POINTER, at_root ? places : JUNK_POINTER, MPI_INT, out,
                                  rank + 1, MPI_INT, root, comm));
    reset();
    CASE("allgather", MPI_Allgather(in, 2, MPI_INT, out, 2, MPI_INT, comm));
    reset();
    CASE("allgather_in_place", MPI_Allgather(MPI_IN_PLACE, JUNK_COUNT, JUNK_TYPE, out, 2, MPI_INT, comm));
    reset();
    CASE("allgatherv", MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, comm));
    reset();
    CASE("allgatherv_in_place", MPI_Allgatherv(MPI_IN_PLACE, 0, JUNK_TYPE, out, counts, places, MPI_INT, comm));
    reset();
}

static void exchanged(MPI_Comm comm)
{
    CASE("alltoall", MPI_Alltoall(in, 4, MPI_INT, out, 4, MPI_INT, comm));
    reset();
    CASE("alltoall_in_place", MPI_Alltoall(MPI_IN_PLACE, JUNK_COUNT, JUNK_TYPE, out, 4, MPI_INT, comm));
    reset();
    /* To rank r go r + 1 elements, so that rank r receives r + 1 from each. */
    int received[MOST], spread[MOST];
    for (int i = 0; i < size; i++) {
        received[i] = rank + 1;
        spread[i] = i * (rank + 1);
    }
    if (size <= 8) CASE("alltoallv", MPI_Alltoallv(in, counts, places, MPI_INT, out, received, spread, MPI_INT, comm));
    reset();
    for (int i = 0; i < size; i++) received[i] = one_each[rank];
    CASE("alltoallw", MPI_Alltoallw(in, one_each, bytewise, ints, out, received, bytewise, ints, comm));
    reset();
}

static void combined(MPI_Comm comm, int root)
{
    CASE("reduce", MPI_Reduce(in, rank == root ? out : JUNK_POINTER, 6, MPI_INT, MPI_SUM, root, comm));
    reset();
    CASE("reduce_in_place", MPI_Reduce(rank == root ? MPI_IN_PLACE : in, out, 6, MPI_INT, MPI_SUM, root, comm));
    reset();
    CASE("allreduce", MPI_Allreduce(in, out, 6, MPI_INT, MPI_SUM, comm));
    reset();
    CASE("allreduce_in_place", MPI_Allreduce(MPI_IN_PLACE, out, 6, MPI_INT, MPI_SUM, comm));
    reset();
    CASE("reduce_scatter", MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_MAX, comm));
    reset();
    CASE("reduce_scatter_block", MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_MAX, comm));
    reset();
    CASE("scan", MPI_Scan(in, out, 3, MPI_INT, MPI_SUM, comm));
    reset();
    CASE("exscan", MPI_Exscan(in, out, 3, MPI_INT, MPI_SUM, comm));
    reset();
    CASE("barrier", MPI_Barrier(comm));
}

static void nonblocking(MPI_Comm comm, int root)
{
    MPI_Request requests[4];
    CASE("nonblocking", MPI_Ibcast(in, 5, MPI_INT, root, comm, &requests[0]);
         MPI_Iallreduce(out, out + 6, 6, MPI_INT, MPI_SUM, comm, &requests[1]);
         MPI_Ialltoall(in + 64, 1, MPI_INT, out + 64, 1, MPI_INT, comm, &requests[2]);
         MPI_Ibarrier(comm, &requests[3]);
         MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    reset();
}

static void derived(MPI_Comm comm)
{
    /* 3 blocks of 2 ints, 4 apart: 24 bytes move, 40 are spanned. */
    MPI_Datatype blocks;
    MPI_Type_vector(3, 2, 4, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    CASE("derived", MPI_Bcast(in, 2, blocks, 0, comm));
    MPI_Type_free(&blocks);
    CASE("nothing", MPI_Bcast(in, 0, MPI_INT, 0, comm));
    reset();
}

/* Even and odd ranks each make a communicator; the last rank makes none. */
static void parts(void)
{
    MPI_Comm part;
    int colour = rank == size - 1 ? MPI_UNDEFINED : rank % 2;
    CASE("split", MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &part));
    if (part == MPI_COMM_NULL) return;
    CASE("part", MPI_Bcast(in, 1, MPI_DOUBLE, 0, part));
    CASE("part", MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, part));
    MPI_Comm_free(&part);
    reset();
}

/* Rank 0 against the others. */
static void between_groups(void)
{
    if (size < 2) return;
    MPI_Comm half, both;
    int first = rank == 0, root = first ? MPI_ROOT : 0;
    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? 1 : 0, 5, &both);
    CASE("inter_bcast", MPI_Bcast(in, 2, MPI_INT, root, both));
    CASE("inter_gather", MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, root, both));
    CASE("inter_reduce", MPI_Reduce(in, out, 2, MPI_INT, MPI_SUM, root, both));
    /* Now the root is the last rank's group's first, and the rest of that group looks on. */
    root = first ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
    CASE("inter_bystanders", MPI_Bcast(in, 2, MPI_INT, root, both));
    CASE("inter_allgather", MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, both));
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    reset();
}

/* A line of ranks, whose ends have one neighbour, and a directed ring. */
static void neighbours(void)
{
    MPI_Comm line, ring;
    int period = 0, next = (rank + 1) % size, before = (rank + size - 1) % size;
    int two[2] = {1, 2}, at[2] = {0, 2};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &line);
    CASE("line", MPI_Neighbor_allgather(in, 3, MPI_INT, out, 3, MPI_INT, line));
    CASE("line", MPI_Neighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, line));
    reset();
    /* One element to the rank below, two to the one above; so two come from below and one from above. */
    int back[2] = {2, 1};
    CASE("line", MPI_Neighbor_alltoallv(in, two, at, MPI_INT, out, back, at, MPI_INT, line));
    MPI_Comm_free(&line);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &ring);
    CASE("ring", MPI_Neighbor_allgather(in, 3, MPI_INT, out, 3, MPI_INT, ring));
    MPI_Comm_free(&ring);
    reset();
}

/* Each rank puts to the next and gets from the one before; nobody is past the last one. */
static void one_sided(void)
{
    static int memory[16];
    if (size < 2) return; /* Open MPI has no windows on a single rank without a network. */
    MPI_Win window;
    int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CASE("one_sided", MPI_Win_fence(0, window);
         MPI_Put(in, 3, MPI_INT, next, 0, 3, MPI_INT, window);
         MPI_Accumulate(in, 2, MPI_INT, next, 4, 2, MPI_INT, MPI_SUM, window);
         MPI_Win_fence(0, window);
         MPI_Get(out, 5, MPI_INT, next, 0, 5, MPI_INT, window);
         MPI_Win_fence(0, window));
    MPI_Win_free(&window);
    for (int i = 0; i < 16; i++) checksum = checksum * 31 + memory[i];
    reset();
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CHECK(size <= MOST);
    for (int i = 0; i < MOST; i++) {
        counts[i] = i + 1;
        places[i] = i * (i + 1) / 2;
        one_each[i] = i % 2; /* Odd ranks are sent one element, even ones none. */
        bytewise[i] = 4 * i;
        ints[i] = MPI_INT;
    }
    reset();
    int root = size - 1;
    moved(MPI_COMM_WORLD, root);
    exchanged(MPI_COMM_WORLD);
    combined(MPI_COMM_WORLD, root);
    nonblocking(MPI_COMM_WORLD, root);
    derived(MPI_COMM_WORLD);
    parts();
    between_groups();
    neighbours();
    one_sided();
    long all;
    MPI_Reduce(&checksum, &all, 1, MPI_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("collectives on %d ranks: %lx\n", size, all);
    MPI_Finalize();
    return 0;
}

/* Communicators of a drawn one, in each way to make them. Over the new one goes an allreduce, or an allgather between two groups. */
#include "drawn.h"

enum { DUP, DUP_WITH_INFO, IDUP, CREATE, CREATE_GROUP, SPLIT, SPLIT_TYPE, GRID, PART_OF_GRID, RING, GRAPH, TWO_GROUPS, IDUP_WITH_INFO, OF_SESSION, OF_GROUPS };
/* The last three came with MPI 4.0. */
enum { WAYS = MPI_VERSION >= 4 ? 15 : 12 };

static MPI_Comm comm;
static int me, ranks;

static void choose(int at)
{
    comm = comms[at];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
}

static void end(MPI_Comm *made)
{
    int disconnects = drawn(FORM, 0, 0, 2);
    disconnects ? MPI_Comm_disconnect(made) : MPI_Comm_free(made);
    write_down("", disconnects ? "Comm_disconnect" : "Comm_free", 0, 0);
}

/* Of the first ranks, up to a drawn one. */
static void make_of_group(int alone, MPI_Comm *new)
{
    MPI_Group all, some;
    int last = drawn(ROOT, 0, 0, ranks), ranges[1][3] = {{0, last, 1}};
    MPI_Comm_group(comm, &all);
    MPI_Group_range_incl(all, 1, ranges, &some);
    if (!alone) MPI_Comm_create(comm, some, new), write_down("", "Comm_create", 0, 0);
    else if (me <= last) MPI_Comm_create_group(comm, some, 7, new), write_down("", "Comm_create_group", 0, 0);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
}

/* The rows of a grid of two columns, or of one where ranks are odd. */
static void make_part_of_grid(MPI_Comm *new)
{
    MPI_Comm grid;
    int columns = 2 - ranks % 2, dims[] = {ranks / columns, columns}, periods[] = {0, 1}, remain[] = {0, 1};
    MPI_Cart_create(comm, 2, dims, periods, 0, &grid), write_down("", "Cart_create", 0, 0);
    MPI_Cart_sub(grid, remain, new), write_down("", "Cart_sub", 0, 0);
    end(&grid);
}

static void make_ring(MPI_Comm *new)
{
    int ends[RANKS], others[2 * RANKS];
    for (int i = 0; i < ranks; i++) ends[i] = 2 * (i + 1), others[2 * i] = (i + ranks - 1) % ranks, others[2 * i + 1] = (i + 1) % ranks;
    MPI_Graph_create(comm, ranks, ends, others, 0, new), write_down("", "Graph_create", 0, 0);
}

/* From each to each of the other group go elements as many as its group draws. */
static void exchange(MPI_Comm between)
{
    int mine = me % 2, others = (ranks + mine) / 2, t = drawn(TYPE, 0, 0, TYPES), to = elements(mine, 0), from = elements(1 - mine, 0);
    MPI(Allgather)(in, to, types[t], out, from, types[t], between);
    write_down_counted("", "Allgather", (long)others * to * sizes[t], (long)others * from * sizes[t]);
}

/* Even and odd ranks, and both of them again. */
static void make_of_two_groups(MPI_Comm *new)
{
    MPI_Comm half, between;
    int mine = me % 2;
    MPI_Comm_split(comm, mine, 0, &half), write_down("", "Comm_split", 0, 0);
    MPI_Intercomm_create(half, 0, comm, 1 - mine, 5, &between), write_down("", "Intercomm_create", 0, 0);
    exchange(between);
    MPI_Intercomm_merge(between, mine, new), write_down("", "Intercomm_merge", 0, 0);
    end(&between);
    end(&half);
}

#if MPI_VERSION >= 4
/* All ranks of the world, without its communicator. */
static void make_of_session(MPI_Comm *new)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), write_down("", "Session_init", 0, 0);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "drawn", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, new), write_down("", "Comm_create_from_group", 0, 0);
    MPI_Group_free(&all);
    MPI_Session_finalize(&session), write_down("", "Session_finalize", 0, 0);
}

/* Even and odd ranks again. */
static void make_of_groups(void)
{
    MPI_Comm between;
    MPI_Group all, halves[2];
    int mine = me % 2;
    MPI_Comm_group(comm, &all);
    for (int i = 0; i < 2; i++) {
        int ranges[1][3] = {{i, ranks - 1, 2}};
        MPI_Group_range_incl(all, 1, ranges, &halves[i]);
    }
    MPI_Intercomm_create_from_groups(halves[mine], 0, halves[1 - mine], 0, "halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &between);
    write_down("", "Intercomm_create_from_groups", 0, 0);
    exchange(between);
    end(&between);
    MPI_Group_free(&halves[0]), MPI_Group_free(&halves[1]), MPI_Group_free(&all);
}
#endif

void communicator(int number, int at)
{
    MPI_Comm new = MPI_COMM_NULL;
    MPI_Request request;
    int way = number % WAYS, sum;
    /* Two groups need two ranks. Dist_graph_create on parts beside each other, in Open MPI 4.1, now and then does not end. */
    choose(way == TWO_GROUPS || way == OF_GROUPS || way == GRAPH ? 0 : at);
    if (ranks == 1 && (way == TWO_GROUPS || way == OF_GROUPS)) return;
    switch (way) {
    case DUP: MPI_Comm_dup(comm, &new), write_down("", "Comm_dup", 0, 0); break;
    case DUP_WITH_INFO: MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &new), write_down("", "Comm_dup_with_info", 0, 0); break;
    case IDUP:
        MPI_Comm_idup(comm, &new, &request), write_down("", "Comm_idup", 0, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE), write_down("", "Wait", 0, 0);
        break;
    case CREATE: case CREATE_GROUP: make_of_group(way == CREATE_GROUP, &new); break;
    case SPLIT: MPI_Comm_split(comm, drawn(PLACE, me, 0, 2), drawn(WHERE, me, 0, 3), &new), write_down("", "Comm_split", 0, 0); break;
    case SPLIT_TYPE: MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &new), write_down("", "Comm_split_type", 0, 0); break;
    case GRID: MPI_Cart_create(comm, 2, (int[]){ranks, 1}, (int[]){1, 0}, 0, &new), write_down("", "Cart_create", 0, 0); break;
    case PART_OF_GRID: make_part_of_grid(&new); break;
    case RING: make_ring(&new); break;
    case GRAPH:
        MPI_Dist_graph_create(comm, 1, &me, (int[]){1}, (int[]){(me + 1) % ranks}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &new);
        write_down("", "Dist_graph_create", 0, 0);
        break;
    case TWO_GROUPS: make_of_two_groups(&new); break;
#if MPI_VERSION >= 4
    case IDUP_WITH_INFO:
        MPI_Comm_idup_with_info(comm, MPI_INFO_NULL, &new, &request), write_down("", "Comm_idup_with_info", 0, 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE), write_down("", "Wait", 0, 0);
        break;
    case OF_SESSION: make_of_session(&new); break;
    case OF_GROUPS: make_of_groups(); break;
#endif
    }
    if (new == MPI_COMM_NULL) return;
    MPI(Allreduce)(&me, &sum, 1, MPI_INT, MPI_SUM, new), write_down_counted("", "Allreduce", 4, 4);
    end(&new);
}

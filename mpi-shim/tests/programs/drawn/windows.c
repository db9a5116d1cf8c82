/* Operations on the memory of other ranks, in each kind of epoch: the rank that calls is credited with what goes there and comes back. Each rank has three operations in an
 * epoch, with its own draws, and a place of its own in each rank's memory for each of them. */
#include "drawn.h"
#include <sched.h>

enum { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, KINDS };
static const char *names[] = {"Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"};
enum { FENCE, LOCK, LOCK_ALL, START, EPOCHS };
enum { EACH = 3 };

/* On all ranks, on one, on all of them backwards, and on all of them with memory that they share. Not on parts beside each other: Open MPI 4.1 gives their windows one name in /dev/shm. */
enum { WORLD, SELF, BACKWARDS, SHARED, WINDOWS };
static struct {
    MPI_Comm comm;
    MPI_Win win;
} windows[WINDOWS];
static char memory[RANKS * EACH * BLOCK];
static int me, ranks;

static void *place(int operation) { return out + operation * BLOCK; }

/* One operation with a rank, or with MPI_PROC_NULL. */
static void one(MPI_Win win, int kind, int later, int target, int operation)
{
    static int before[2], after[2];
    /* All but characters can be added. */
    int t = (int[]){0, 1, 3}[drawn(TYPE, me, operation, 3)], n = elements(me, operation);
    /* With MPI_NO_OP nothing goes there. */
    int only_reads = drawn(PLACE, me, operation, 2);
    MPI_Op op = only_reads ? MPI_NO_OP : MPI_SUM;
    MPI_Datatype type = types[t], single = types[t % 3 % 2];
    MPI_Aint there = (MPI_Aint)(me * EACH + operation) * BLOCK;
    MPI_Request request;
    long bytes = (long)n * sizes[t], sent = bytes, received = bytes;
    switch (kind) {
    case PUT:
        later ? MPI(Rput)(in, n, type, target, there, n, type, win, &request) : MPI(Put)(in, n, type, target, there, n, type, win);
        received = 0;
        break;
    case GET:
        later ? MPI(Rget)(place(operation), n, type, target, there, n, type, win, &request) : MPI(Get)(place(operation), n, type, target, there, n, type, win);
        sent = 0;
        break;
    case ACCUMULATE:
        later ? MPI(Raccumulate)(in, n, type, target, there, n, type, MPI_SUM, win, &request) : MPI(Accumulate)(in, n, type, target, there, n, type, MPI_SUM, win);
        received = 0;
        break;
    case GET_ACCUMULATE:
        later ? MPI(Rget_accumulate)(in, n, type, place(operation), n, type, target, there, n, type, op, win, &request)
              : MPI(Get_accumulate)(in, n, type, place(operation), n, type, target, there, n, type, op, win);
        sent = only_reads ? 0 : bytes;
        break;
    case FETCH_AND_OP:
        MPI_Fetch_and_op(in, place(operation), single, target, there, op, win);
        received = single == types[0] ? sizes[0] : sizes[1];
        sent = only_reads ? 0 : received;
        break;
    default:
        /* The new value and the one that is compared with. */
        MPI_Compare_and_swap(after, before, place(operation), MPI_INT, target, there, win);
        sent = 2 * sizes[0], received = sizes[0];
    }
    if (target == MPI_PROC_NULL) sent = received = 0;
    (kind < FETCH_AND_OP ? write_down_counted : write_down)(later ? "R" : "", names[kind], sent, received);
    if (later) MPI_Wait(&request, MPI_STATUS_IGNORE), write_down("", "Wait", 0, 0);
}

static void fence(MPI_Win win) { MPI_Win_fence(0, win), write_down("", "Win_fence", 0, 0); }

static void make(int at)
{
    int rank;
    void *where;
    MPI_Comm *comm = &windows[at].comm;
    *comm = at == SELF ? MPI_COMM_SELF : MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (at == BACKWARDS) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm), write_down("", "Comm_split", 0, 0);
    MPI_Comm_size(*comm, &ranks);
    /* Open MPI 4.1 creates none on a single rank, unless a network can be used for it. */
    if (ranks == 1) MPI(Win_allocate)(sizeof memory, 1, MPI_INFO_NULL, *comm, &where, &windows[at].win);
    else if (at == SHARED) MPI(Win_allocate_shared)(sizeof memory, 1, MPI_INFO_NULL, *comm, &where, &windows[at].win);
    else MPI(Win_create)(memory, sizeof memory, 1, MPI_INFO_NULL, *comm, &windows[at].win);
    write_down_counted("", ranks == 1 ? "Win_allocate" : at == SHARED ? "Win_allocate_shared" : "Win_create", 0, 0);
    if (at != SHARED || ranks == 1) return;
    /* Memory would be attached to it later. */
    MPI_Win dynamic;
    MPI_Win_create_dynamic(MPI_INFO_NULL, *comm, &dynamic), write_down("", "Win_create_dynamic", 0, 0);
    MPI_Win_free(&dynamic), write_down("", "Win_free", 0, 0);
}

void window(int number, int at)
{
    MPI_Group all;
    int epoch = number % EPOCHS, round = number / EPOCHS, is_passive = epoch == LOCK || epoch == LOCK_ALL;
    at %= WINDOWS;
    if (!windows[at].win) make(at);
    MPI_Win win = windows[at].win;
    MPI_Comm_rank(windows[at].comm, &me);
    MPI_Comm_size(windows[at].comm, &ranks);
    MPI_Comm_group(windows[at].comm, &all);
    int locked = drawn(ROOT, me, 0, ranks);
    switch (epoch) {
    case FENCE: fence(win); break;
    case LOCK: MPI_Win_lock(drawn(FORM, me, 0, 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, locked, 0, win), write_down("", "Win_lock", 0, 0); break;
    case LOCK_ALL: MPI_Win_lock_all(0, win), write_down("", "Win_lock_all", 0, 0); break;
    default:
        MPI_Win_post(all, 0, win), write_down("", "Win_post", 0, 0);
        MPI_Win_start(all, 0, win), write_down("", "Win_start", 0, 0);
    }
    for (int i = 0; i < EACH; i++) {
        int kind = (EACH * round + i) % KINDS, target = drawn(PEER, me, i, ranks + 1);
        if (target == ranks) target = MPI_PROC_NULL;
        else if (epoch == LOCK) target = locked;
        one(win, kind, is_passive && kind <= GET_ACCUMULATE && round / 2 % 2, target, i);
    }
    switch (epoch) {
    case FENCE: fence(win); break;
    case LOCK:
        round % 2 ? MPI_Win_flush(locked, win) : MPI_Win_flush_local(locked, win);
        write_down("", round % 2 ? "Win_flush" : "Win_flush_local", 0, 0);
        MPI_Win_unlock(locked, win), write_down("", "Win_unlock", 0, 0);
        break;
    case LOCK_ALL:
        round % 2 ? MPI_Win_flush_all(win) : MPI_Win_flush_local_all(win);
        write_down("", round % 2 ? "Win_flush_all" : "Win_flush_local_all", 0, 0);
        MPI_Win_sync(win), write_down("", "Win_sync", 0, 0);
        MPI_Win_unlock_all(win), write_down("", "Win_unlock_all", 0, 0);
        break;
    default:
        MPI_Win_complete(win), write_down("", "Win_complete", 0, 0);
        if (round % 2) MPI_Win_wait(win), write_down("", "Win_wait", 0, 0);
        else
            for (int flag = 0; !flag; sched_yield()) MPI_Win_test(win, &flag), write_down("", "Win_test", 0, 0);
    }
    MPI_Group_free(&all);
}

void end_windows(void)
{
    for (int i = 0; i < WINDOWS; i++)
        if (windows[i].win) MPI_Win_free(&windows[i].win), write_down("", "Win_free", 0, 0);
    if (windows[BACKWARDS].comm) MPI_Comm_free(&windows[BACKWARDS].comm), write_down("", "Comm_free", 0, 0);
}

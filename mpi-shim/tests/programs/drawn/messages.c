/* Messages to the next rank of a communicator, in each mode in which they can be sent, received and completed. A rank's count is its own draw, and the receiver has
 * room for more. */
#include "drawn.h"
#include <sched.h>
#include <stdio.h>

static const struct {
    const char *name;
    int (*at_once)(const void *, Count, MPI_Datatype, int, int, MPI_Comm);
    int (*later)(const void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*prepare)(const void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
} modes[] = {{"Send", MPI(Send), MPI(Isend), MPI(Send_init)}, {"Bsend", MPI(Bsend), MPI(Ibsend), MPI(Bsend_init)},
    {"Ssend", MPI(Ssend), MPI(Issend), MPI(Ssend_init)}, {"Rsend", MPI(Rsend), MPI(Irsend), MPI(Rsend_init)}};
enum { BUFFERED = 1, READY = 3, MODES };
enum { AT_ONCE, LATER, PREPARED, FORMS };
/* The first two are there before the message is sent; the last two came with MPI 4.0. */
enum { IRECV, RECV_INIT, RECV, PROBE, IPROBE, MPROBE, IMPROBE, SENDRECV, SENDRECV_REPLACE, ISENDRECV, PARTITIONED };
enum { WAYS = MPI_VERSION >= 4 ? 11 : 9 };
enum { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, COMPLETIONS };

static MPI_Comm comm;
static MPI_Datatype type;
static int next, before;
/* Of the receive and of the send, and the bytes that the first one brings. */
static MPI_Request requests[2];
static long comes;

static void start(MPI_Request *request, int all, long sent)
{
    all ? MPI_Startall(1, request) : MPI_Start(request);
    write_down("", all ? "Startall" : "Start", sent, 0);
}

static void free_requests(void)
{
    for (int i = 0; i < 2; i++)
        if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]), write_down("", "Request_free", 0, 0);
}

/* Receives that nobody prepared. */
static void receive(int way)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    switch (way) {
    case PROBE: MPI_Probe(before, 1, comm, &status), write_down("", "Probe", 0, 0); break;
    case MPROBE: MPI_Mprobe(before, 1, comm, &message, &status), write_down("", "Mprobe", 0, 0); break;
    case IPROBE:
        for (; !flag; sched_yield()) MPI_Iprobe(before, 1, comm, &flag, &status), write_down("", "Iprobe", 0, 0);
        break;
    case IMPROBE:
        for (; !flag; sched_yield()) MPI_Improbe(before, 1, comm, &flag, &message, MPI_STATUS_IGNORE), write_down("", "Improbe", 0, 0);
    }
    if (way == IMPROBE) {
        MPI(Imrecv)(out, ELEMENTS, type, &message, &requests[0]), write_down_counted("", "Imrecv", 0, 0);
    } else {
        if (way == MPROBE) MPI(Mrecv)(out, ELEMENTS, type, &message, MPI_STATUS_IGNORE);
        else MPI(Recv)(out, ELEMENTS, type, before, 1, comm, MPI_STATUS_IGNORE);
        write_down_counted("", way == MPROBE ? "Mrecv" : "Recv", 0, comes);
        comes = 0;
    }
}

/* A call that completes requests brings what the first one does, if that is among them. */
static void brings(const char *name, int is_complete) { write_down("", name, 0, is_complete ? comes : 0); }

static void complete(int how)
{
    int flag = 0, which, number, places[2], left = (requests[0] != MPI_REQUEST_NULL) + (requests[1] != MPI_REQUEST_NULL);
    MPI_Status statuses[2];
    for (; left > 0; sched_yield()) {
        int one = left == 2 || requests[1] == MPI_REQUEST_NULL ? 0 : 1;
        number = left;
        switch (how) {
        case WAIT: MPI_Wait(&requests[one], statuses), brings("Wait", one == 0), number = 1; break;
        case TEST: MPI_Test(&requests[one], &flag, statuses), brings("Test", flag && one == 0), number = flag; break;
        case WAITALL: MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), brings("Waitall", 1); break;
        case TESTALL: MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE), brings("Testall", flag), number = flag ? left : 0; break;
        case WAITANY: MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE), brings("Waitany", which == 0), number = 1; break;
        case TESTANY: MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE), brings("Testany", flag && which == 0), number = flag; break;
        default:
            if (how == WAITSOME) MPI_Waitsome(2, requests, &number, places, statuses);
            else MPI_Testsome(2, requests, &number, places, MPI_STATUSES_IGNORE);
            brings(how == WAITSOME ? "Waitsome" : "Testsome", (number > 0 && places[0] == 0) || (number > 1 && places[1] == 0));
        }
        left -= number;
    }
}

/* Asks for a request until it is over; who asks completes nothing. */
static void ask(MPI_Request request)
{
    MPI_Status status;
    for (int flag = 0; !flag; sched_yield()) MPI_Request_get_status(request, &flag, &status), write_down("", "Request_get_status", 0, 0);
}

static void exchange(int n, int replaces, int size)
{
    /* What replaces what was sent has its length. */
    if (replaces) n = elements(0, 0), comes = (long)n * size;
    if (replaces) MPI(Sendrecv_replace)(out, n, type, next, 1, before, 1, comm, MPI_STATUS_IGNORE);
    else MPI(Sendrecv)(in, n, type, next, 1, out, ELEMENTS, type, before, 1, comm, MPI_STATUS_IGNORE);
    write_down_counted("", replaces ? "Sendrecv_replace" : "Sendrecv", (long)n * size, comes);
}

#if MPI_VERSION >= 4
/* The same as one request. MPICH 4.0 does not say what came. */
static void start_exchange(int n, int replaces, int size)
{
    if (replaces) n = elements(0, 0);
    if (replaces) MPI(Isendrecv_replace)(out, n, type, next, 1, before, 1, comm, &requests[1]);
    else MPI(Isendrecv)(in, n, type, next, 1, out, ELEMENTS, type, before, 1, comm, &requests[1]);
    write_down_counted("", replaces ? "Isendrecv_replace" : "Isendrecv", (long)n * size, 0);
    comes = 0;
}

/* A message in up to four parts, which are received in one or two; each of its sender's draws twice its parts' length. */
static void message_in_parts(int me, int all, int size)
{
    int to_parts = 1 + drawn(FORM, me, 0, 4), from_parts = 1 + drawn(FORM, before, 0, 4), halves = 1 + drawn(PLACE, me, 0, 2), parts[] = {0, 1, 2, 3};
    int to = 2 * elements(me, 0), from = 2 * from_parts * elements(before, 0);
    MPI_Psend_init(in, to_parts, to, type, next, 1, comm, MPI_INFO_NULL, &requests[1]), write_down("", "Psend_init", 0, 0);
    MPI_Precv_init(out, halves, from / halves, type, before, 1, comm, MPI_INFO_NULL, &requests[0]), write_down("", "Precv_init", 0, 0);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[0]), write_down("", "Start", 0, (long)from * size);
        start(&requests[1], all, (long)to_parts * to * size);
        switch (drawn(WHERE, me, i, 3)) {
        case 0:
            for (int part = 0; part < to_parts; part++) MPI_Pready(part, requests[1]), write_down("", "Pready", 0, 0);
            break;
        case 1: MPI_Pready_range(0, to_parts - 1, requests[1]), write_down("", "Pready_range", 0, 0); break;
        default: MPI_Pready_list(to_parts, parts, requests[1]), write_down("", "Pready_list", 0, 0);
        }
        for (int flag = 0; !flag; sched_yield()) MPI_Parrived(requests[0], halves - 1, &flag), write_down("", "Parrived", 0, 0);
        /* MPICH 4.0's MPI_Testall takes no such requests. */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), write_down("", "Waitall", 0, 0);
    }
    free_requests();
}
#endif

/* Completes what was started, after asking for one of it now and then. */
static void end(int number)
{
    int first = requests[0] == MPI_REQUEST_NULL;
    if (number % 3 == 0 && requests[first] != MPI_REQUEST_NULL) ask(requests[first]);
    complete(number / 2 % COMPLETIONS);
}

/* A message of one call to send it and one to receive it. */
static void one(int number, int way, int n, int all, long sent)
{
    static char buffer[2 * BLOCK + MPI_BSEND_OVERHEAD];
    char name[16];
    int mode = number % MODES, form = number / MODES % FORMS;
    if (form == AT_ONCE || mode == READY) way %= 2;
    if (way == IRECV) {
        MPI(Irecv)(out, ELEMENTS, type, before, 1, comm, &requests[0]), write_down_counted("", "Irecv", 0, 0);
    } else if (way == RECV_INIT) {
        MPI(Recv_init)(out, ELEMENTS, type, before, 1, comm, &requests[0]), write_down_counted("", "Recv_init", 0, 0);
        start(&requests[0], all, 0);
    }
    if (mode == READY) MPI_Barrier(comm), write_down("", "Barrier", 0, 0);
    if (mode == BUFFERED) MPI_Buffer_attach(buffer, sizeof buffer);
    if (form == PREPARED) {
        snprintf(name, sizeof name, "%s_init", modes[mode].name);
        modes[mode].prepare(in, n, type, next, 1, comm, &requests[1]), write_down_counted("", name, 0, 0);
        start(&requests[1], all, sent);
    } else {
        if (form == LATER) modes[mode].later(in, n, type, next, 1, comm, &requests[1]);
        else modes[mode].at_once(in, n, type, next, 1, comm);
        write_down_counted(form == LATER ? "I" : "", modes[mode].name, sent, 0);
    }
    if (way > RECV_INIT) receive(way);
    end(number);
    free_requests();
    if (mode == BUFFERED) {
        void *where;
        Count length;
        MPI(Buffer_detach)(&where, &length), write_down_counted("", "Buffer_detach", 0, 0);
    }
}

/* A receive that nobody sends to. */
static void cancel(void)
{
    MPI_Request request;
    MPI(Irecv)(out, ELEMENTS, type, before, 2, comm, &request), write_down_counted("", "Irecv", 0, 0);
    MPI_Cancel(&request), write_down("", "Cancel", 0, 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE), write_down("", "Wait", 0, 0);
}

void message(int number, int at)
{
    int me, ranks, way = number % WAYS, all = number / (MODES * FORMS) % 2;
    /* Derived types MPICH 4.0 gives up each time that an exchange of one request ends. */
    int t = drawn(TYPE, 0, 0, way == ISENDRECV ? 3 : TYPES), size = sizes[t];
    comm = comms[at], type = types[t];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    int n = elements(me, 0);
    comes = (long)elements(before, 0) * size;
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    if (number % 10 == 9) cancel();
    switch (way) {
    case SENDRECV: case SENDRECV_REPLACE: exchange(n, way == SENDRECV_REPLACE, size); break;
#if MPI_VERSION >= 4
    case ISENDRECV: start_exchange(n, number / WAYS % 2, size), end(number); break;
    case PARTITIONED: message_in_parts(me, all, size); break;
#endif
    default: one(number, way, n, all, (long)n * size);
    }
}

/* Messages to the next rank of a communicator, in each mode in which they can be sent, received and completed. A rank's count is its own draw, and the receiver has
 * room for more. */
#include "drawn.h"
#include <sched.h>
#include <stdio.h>

static const struct {
    const char *name;
    int (*at_once)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*later)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*prepare)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
} modes[] = {{"Send", MPI_Send, MPI_Isend, MPI_Send_init}, {"Bsend", MPI_Bsend, MPI_Ibsend, MPI_Bsend_init}, {"Ssend", MPI_Ssend, MPI_Issend, MPI_Ssend_init},
    {"Rsend", MPI_Rsend, MPI_Irsend, MPI_Rsend_init}};
enum { BUFFERED = 1, READY = 3, MODES };
enum { AT_ONCE, LATER, PREPARED, FORMS };
/* The first two are there before the message is sent. */
enum { IRECV, RECV_INIT, RECV, PROBE, IPROBE, MPROBE, IMPROBE, SENDRECV, SENDRECV_REPLACE, WAYS };
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
        MPI_Imrecv(out, ELEMENTS, type, &message, &requests[0]), write_down("", "Imrecv", 0, 0);
    } else {
        if (way == MPROBE) MPI_Mrecv(out, ELEMENTS, type, &message, MPI_STATUS_IGNORE);
        else MPI_Recv(out, ELEMENTS, type, before, 1, comm, MPI_STATUS_IGNORE);
        write_down("", way == MPROBE ? "Mrecv" : "Recv", 0, comes);
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

static void exchange(int n, int replaces, int size)
{
    /* What replaces what was sent has its length. */
    if (replaces) n = elements(0, 0), comes = (long)n * size;
    if (replaces) MPI_Sendrecv_replace(out, n, type, next, 1, before, 1, comm, MPI_STATUS_IGNORE);
    else MPI_Sendrecv(in, n, type, next, 1, out, ELEMENTS, type, before, 1, comm, MPI_STATUS_IGNORE);
    write_down("", replaces ? "Sendrecv_replace" : "Sendrecv", (long)n * size, comes);
}

void message(int number, int at)
{
    static char buffer[2 * BLOCK + MPI_BSEND_OVERHEAD];
    char name[16];
    int me, ranks, t = drawn(TYPE, 0, 0, TYPES), mode = number % MODES, form = number / MODES % FORMS, way = number % WAYS;
    comm = comms[at], type = types[t];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    int n = elements(me, 0), all = number / (MODES * FORMS) % 2;
    long sent = (long)n * sizes[t];
    comes = (long)elements(before, 0) * sizes[t];
    if (way >= SENDRECV) {
        exchange(n, way == SENDRECV_REPLACE, sizes[t]);
        return;
    }
    if (form == AT_ONCE || mode == READY) way %= 2;
    requests[0] = requests[1] = MPI_REQUEST_NULL;
    if (way == IRECV) {
        MPI_Irecv(out, ELEMENTS, type, before, 1, comm, &requests[0]), write_down("", "Irecv", 0, 0);
    } else if (way == RECV_INIT) {
        MPI_Recv_init(out, ELEMENTS, type, before, 1, comm, &requests[0]), write_down("", "Recv_init", 0, 0);
        start(&requests[0], all, 0);
    }
    if (mode == READY) MPI_Barrier(comm), write_down("", "Barrier", 0, 0);
    if (mode == BUFFERED) MPI_Buffer_attach(buffer, sizeof buffer);
    if (form == PREPARED) {
        snprintf(name, sizeof name, "%s_init", modes[mode].name);
        modes[mode].prepare(in, n, type, next, 1, comm, &requests[1]), write_down("", name, 0, 0);
        start(&requests[1], all, sent);
    } else {
        if (form == LATER) modes[mode].later(in, n, type, next, 1, comm, &requests[1]);
        else modes[mode].at_once(in, n, type, next, 1, comm);
        write_down(form == LATER ? "I" : "", modes[mode].name, sent, 0);
    }
    if (way > RECV_INIT) receive(way);
    complete(number / 2 % COMPLETIONS);
    for (int i = 0; i < 2; i++)
        if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]), write_down("", "Request_free", 0, 0);
    if (mode == BUFFERED) {
        void *where;
        int length;
        MPI_Buffer_detach(&where, &length), write_down("", "Buffer_detach", 0, 0);
    }
}

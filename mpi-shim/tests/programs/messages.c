/* Point-to-point calls of every kind around a ring; each rank sends to the next. Rank r sends r + 1 ints where sizes
 * differ, so what is received is not what the receiver's count says. */
#include "cases.h"

#define ROOM 64

static int in[ROOM], out[ROOM], next, before;
static long checksum;

static void note(int count, int from)
{
    for (int i = 0; i < count; i++) {
        CHECK(out[i] == 100 * from + i);
        checksum = checksum * 31 + out[i];
        out[i] = -1;
    }
}

static void modes(MPI_Comm comm)
{
    static char buffer[4096];
    MPI_Request request;
    MPI_Status status;
    CASE("send", MPI_Irecv(out, ROOM, MPI_INT, before, 1, comm, &request);
         MPI_Send(in, rank + 1, MPI_INT, next, 1, comm); MPI_Wait(&request, MPI_STATUS_IGNORE));
    note(before + 1, before);
    CASE("ssend", MPI_Irecv(out, ROOM, MPI_INT, before, 1, comm, &request);
         MPI_Ssend(in, rank + 1, MPI_INT, next, 1, comm); MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == before);
    note(before + 1, before);
    CASE("rsend", MPI_Irecv(out, ROOM, MPI_INT, before, 1, comm, &request); MPI_Barrier(comm);
         MPI_Rsend(in, rank + 1, MPI_INT, next, 1, comm); MPI_Wait(&request, MPI_STATUS_IGNORE));
    note(before + 1, before);
    MPI_Buffer_attach(buffer, sizeof buffer);
    CASE("bsend", MPI_Bsend(in, rank + 1, MPI_INT, next, 1, comm);
         MPI_Recv(out, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    void *detached;
    int room;
    MPI_Buffer_detach(&detached, &room);
    note(before + 1, before);
    CASE("isend", MPI_Isend(in, rank + 1, MPI_INT, next, 1, comm, &request);
         MPI_Recv(out, ROOM, MPI_INT, before, 1, comm, &status); MPI_Wait(&request, MPI_STATUS_IGNORE));
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == before + 1);
    note(before + 1, before);
}

static void exchanges(MPI_Comm comm)
{
    CASE("sendrecv", MPI_Sendrecv(in, rank + 1, MPI_INT, next, 2, out, ROOM, MPI_INT, before, 2, comm,
                                  MPI_STATUS_IGNORE));
    note(before + 1, before);
    memcpy(out, in, sizeof out);
    CASE("sendrecv_replace", MPI_Sendrecv_replace(out, 7, MPI_INT, next, 2, before, 2, comm, MPI_STATUS_IGNORE));
    note(7, before);
    /* A line instead of a ring: nobody is beyond its ends. */
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Request requests[2];
    CASE("nobody", MPI_Sendrecv(in, 4, MPI_INT, up, 2, out, ROOM, MPI_INT, down, 2, comm, MPI_STATUS_IGNORE);
         MPI_Irecv(out, ROOM, MPI_INT, down, 3, comm, &requests[0]);
         MPI_Isend(in, 4, MPI_INT, up, 3, comm, &requests[1]);
         MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    /* 12 bytes move of every 40 spanned; they are received as bytes. */
    MPI_Datatype spread;
    MPI_Type_vector(3, 1, 4, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    CASE("derived", MPI_Sendrecv(in, 2, spread, next, 2, out, (int)sizeof out, MPI_BYTE, before, 2, comm,
                                 MPI_STATUS_IGNORE));
    MPI_Type_free(&spread);
}

/* Message i of six has i + 1 ints. */
static void post(MPI_Comm comm, MPI_Request *receives, MPI_Request *sends)
{
    for (int i = 0; i < 6; i++) {
        MPI_Irecv(out + 8 * i, 8, MPI_INT, before, 10 + i, comm, &receives[i]);
        MPI_Isend(in, i + 1, MPI_INT, next, 10 + i, comm, &sends[i]);
    }
}

static void completions(MPI_Comm comm)
{
    MPI_Request receives[6], sends[6], all[12];
    MPI_Status statuses[12];
    int index, flag, number, indices[6], done;
    CASE("waitall", post(comm, all, all + 6); MPI_Waitall(12, all, MPI_STATUSES_IGNORE));
    CASE("waitall_statuses", post(comm, all, all + 6); MPI_Waitall(12, all, statuses));
    for (int i = 0; i < 6; i++) CHECK(statuses[i].MPI_TAG == 10 + i);
    CASE("waitany", post(comm, receives, sends);
         for (done = 0; done < 6; done++) MPI_Waitany(6, receives, &index, MPI_STATUS_IGNORE);
         MPI_Waitany(6, receives, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED);
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    CASE("waitsome", post(comm, receives, sends); for (done = 0; done < 6; done += number)
         MPI_Waitsome(6, receives, &number, indices, MPI_STATUSES_IGNORE));
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    CASE("test", post(comm, receives, sends); for (done = 0; done < 6; done++)
         for (flag = 0; !flag;) MPI_Test(&receives[done], &flag, MPI_STATUS_IGNORE));
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    CASE("testall", post(comm, receives, sends);
         for (flag = 0; !flag;) MPI_Testall(6, receives, &flag, MPI_STATUSES_IGNORE));
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    CASE("testany", post(comm, receives, sends);
         for (done = 0; done < 6; done += flag) MPI_Testany(6, receives, &index, &flag, MPI_STATUS_IGNORE));
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    CASE("testsome", post(comm, receives, sends); for (done = 0; done < 6; done += number)
         MPI_Testsome(6, receives, &number, indices, statuses));
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
}

static void persistent(MPI_Comm comm)
{
    MPI_Request requests[2];
    int index;
    CASE("persistent", MPI_Recv_init(out, ROOM, MPI_INT, before, 4, comm, &requests[0]);
         MPI_Send_init(in, rank + 1, MPI_INT, next, 4, comm, &requests[1]);
         for (int i = 0; i < 3; i++) { MPI_Startall(2, requests); MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); }
         MPI_Start(&requests[0]); MPI_Start(&requests[1]);
         MPI_Wait(&requests[0], MPI_STATUS_IGNORE); MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
         MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* Inactive: nothing more arrives. */
         MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
         MPI_Request_free(&requests[0]); MPI_Request_free(&requests[1]));
    note(before + 1, before);
}

static void matched(MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request request, send;
    int flag = 0;
    CASE("matched", MPI_Isend(in, rank + 1, MPI_INT, next, 6, comm, &send);
         MPI_Mprobe(before, 6, comm, &message, &status);
         MPI_Mrecv(out, ROOM, MPI_INT, &message, MPI_STATUS_IGNORE); MPI_Wait(&send, MPI_STATUS_IGNORE);
         MPI_Isend(in, rank + 1, MPI_INT, next, 7, comm, &send);
         while (!flag) MPI_Improbe(before, 7, comm, &flag, &message, &status);
         MPI_Imrecv(out, ROOM, MPI_INT, &message, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE); MPI_Wait(&send, MPI_STATUS_IGNORE));
    note(before + 1, before);
    CASE("cancelled", MPI_Irecv(out, ROOM, MPI_INT, before, 99, comm, &request); MPI_Cancel(&request);
         MPI_Wait(&request, MPI_STATUS_IGNORE));
    CASE("no_message", MPI_Mprobe(MPI_PROC_NULL, 6, comm, &message, &status);
         MPI_Imrecv(out, ROOM, MPI_INT, &message, &request); MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* What MPI refuses is not counted and comes back as MPI's own error. */
static void refused(MPI_Comm comm)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int class, result;
    CASE("refused", result = MPI_Send(in, 3, MPI_INT, size + 7, 1, comm));
    MPI_Error_class(result, &class);
    CHECK(class == MPI_ERR_RANK);
    CASE("refused", result = MPI_Bcast(in, 3, MPI_DATATYPE_NULL, 0, comm));
    MPI_Error_class(result, &class);
    CHECK(class == MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (int i = 0; i < ROOM; i++) in[i] = 100 * rank + i;
    modes(comm);
    exchanges(comm);
    completions(comm);
    persistent(comm);
    matched(comm);
    refused(comm);
    long all;
    MPI_Reduce(&checksum, &all, 1, MPI_LONG, MPI_BXOR, 0, comm);
    if (rank == 0) printf("messages on %d ranks: %lx\n", size, all);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}

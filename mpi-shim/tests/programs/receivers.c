/* Two ranks of which one is late: the receiver of synchronous and of large sends in every form, the sender, or one where all ranks
 * meet. Rank 0 prints for each case how many milliseconds the punctual one waited, by the program's own clocks. */
#include "cases.h"
#include <time.h>
#include <unistd.h>

#define LARGE (1 << 20)
#define LATE 220000
/* By then the other has left the barrier, too, and does not take messages any more before its receive. */
#define PUNCTUAL 20000

static char buffer[LARGE];
/* When each rank began and ended its call, of each case. */
static double began[16], ended[16];
static int cases;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

#define TIMED(CALL)                  \
    do {                             \
        began[cases] = now();        \
        CALL;                        \
        ended[cases] = now();        \
    } while (0)

/* Rank `late` comes later. */
static void meet(int late)
{
    CASE("meet", MPI_Barrier(MPI_COMM_WORLD));
    usleep(rank == late ? LATE : PUNCTUAL);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    /* The first message of its datatype, whose size nobody has asked for. */
    CASE("first", {
        meet(1);
        if (rank == 0) TIMED(MPI_Send(buffer, LARGE / 4, MPI_INT, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Recv(buffer, LARGE / 4, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    CASE("ssend", {
        meet(1);
        if (rank == 0) TIMED(MPI_Ssend(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Recv(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    CASE("large", {
        meet(1);
        if (rank == 0) TIMED(MPI_Send(buffer, LARGE, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Recv(buffer, LARGE, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    CASE("issend", {
        if (rank == 0) MPI_Issend(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        meet(1);
        if (rank == 0) TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        else TIMED(MPI_Recv(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    CASE("persistent", {
        if (rank == 0) MPI_Ssend_init(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        else MPI_Recv_init(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        meet(1);
        TIMED({ MPI_Start(&request); MPI_Wait(&request, MPI_STATUS_IGNORE); });
        MPI_Request_free(&request);
        cases++;
    });
    /* The receive has long begun; the sender waits for nobody. */
    CASE("posted", {
        if (rank == 1) MPI_Irecv(buffer, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        meet(0);
        if (rank == 0) TIMED(MPI_Ssend(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Wait(&request, MPI_STATUS_IGNORE));
        cases++;
    });
    /* MPI libraries differ in whether they wait with such a message. */
    CASE("short", {
        meet(1);
        if (rank == 0) TIMED(MPI_Send(buffer, 1024, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Recv(buffer, 1024, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    /* A small message is on its way at once. */
    CASE("small", {
        meet(1);
        if (rank == 0) TIMED(MPI_Send(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Recv(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        cases++;
    });
    CASE("collective", {
        meet(1);
        TIMED(MPI_Allreduce(MPI_IN_PLACE, buffer, 8, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
        cases++;
    });
    /* The message that a probe waits for comes late, and is there when it is received. */
    CASE("probe", {
        meet(1);
        if (rank == 1) TIMED(MPI_Send(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (rank == 0) MPI_Recv(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        cases++;
    });
    CASE("dup", {
        meet(0);
        TIMED(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MPI_Comm_free(&comm);
        cases++;
    });
    CASE("split", {
        meet(1);
        TIMED(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm));
        MPI_Comm_free(&comm);
        cases++;
    });
    /* Asked for again and again. */
    CASE("spin", {
        int flag = 0;
        if (rank == 0) MPI_Irecv(buffer, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        meet(1);
        if (rank == 1) TIMED(MPI_Send(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        else TIMED(while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        cases++;
    });
#ifndef SMPI_H
    /* As probe, of a matched message, which SMPI does not have. */
    CASE("mprobe", {
        MPI_Message message;
        meet(1);
        if (rank == 1) TIMED(MPI_Send(buffer, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
        else TIMED(MPI_Mprobe(1, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        if (rank == 0) MPI_Mrecv(buffer, 8, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        cases++;
    });
    /* The ranks of a group alone make a communicator; under SMPI it is not measured. */
    CASE("group", {
        MPI_Group all;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        meet(0);
        TIMED(MPI_Comm_create_group(MPI_COMM_WORLD, all, 3, &comm));
        MPI_Comm_free(&comm);
        MPI_Group_free(&all);
        cases++;
    });
#endif
    double theirs[2][16];
    MPI_Gather(began, 16, MPI_DOUBLE, theirs, 16, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < cases && rank == 0; i++) {
        /* Rank 0 began first, or rank 1 did. */
        double waited = theirs[1][i] - theirs[0][i];
        printf("%d %.3f\n", i, waited < 0 ? -waited : waited);
    }
    MPI_Finalize();
    return 0;
}

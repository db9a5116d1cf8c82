/* Three ranks: what one call completes waits for several others at the same time. Rank 0 prints for each case how many milliseconds its call
 * waited for the last of them, by the program's own clocks. */
#include "cases.h"
#include <time.h>
#include <unistd.h>

#define LARGE (1 << 20)
#define LATE 200000

static char buffer[LARGE], other[LARGE];
/* When each rank began its call, of each case. */
static double began[8];
static int cases;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

/* Rank 1 is late, and rank 2 twice as much. */
static void meet(void)
{
    CASE("meet", MPI_Barrier(MPI_COMM_WORLD));
    usleep((useconds_t)(rank * LATE));
    began[cases] = now();
}

int main(int argc, char **argv)
{
    MPI_Request requests[2];
    MPI_Comm pair, inter;
    start(&argc, &argv);
    CHECK(size == 3);
    for (int falling = 0; falling < 2; falling++) {
        const char *names[] = {"rising", "falling"};
        struct poise_region region = {names[falling], 0, 0, 2, 0}, *kept = malloc(sizeof *kept);
        *kept = region;
        void *token = poise_enter ? poise_enter(kept) : NULL;
        meet();
        if (rank == 0) {
            MPI_Isend(buffer, LARGE, MPI_BYTE, 1 + falling, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(other, LARGE, MPI_BYTE, 2 - falling, 1, MPI_COMM_WORLD, &requests[1]);
            began[cases] = now();
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            MPI_Recv(buffer, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        cases++;
        if (poise_leave) poise_leave(token);
    }
    /* The call waits for the last one at a collective operation, and for a receiver meanwhile. */
    CASE("beside", {
        meet();
        if (rank == 0) {
            MPI_Isend(buffer, LARGE, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
            began[cases] = now();
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            if (rank == 1) MPI_Recv(buffer, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        cases++;
    });
    /* A small message, the first of its datatype, is taken at once; the call waits for a message between groups, which is not measured. */
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &pair);
    MPI_Intercomm_create(pair, 0, MPI_COMM_WORLD, rank == 2 ? 0 : 2, 7, &inter);
    CASE("small", {
        meet();
        if (rank == 0) {
            MPI_Isend(buffer, 2, MPI_SHORT, 2, 1, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(other, 8, MPI_BYTE, 0, 2, inter, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (rank == 2) {
            MPI_Recv(buffer, 2, MPI_SHORT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, 8, MPI_BYTE, 0, 2, inter);
        }
        cases++;
    });
    double theirs[3][8];
    MPI_Gather(began, 8, MPI_DOUBLE, theirs, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < cases && rank == 0; i++) printf("%d %.3f\n", i, theirs[2][i] - theirs[0][i]);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}

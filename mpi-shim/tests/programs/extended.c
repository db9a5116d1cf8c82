/* Persistent collective operations as Open MPI 4.1 has them: as extensions. */
#include "cases.h"
#include <mpi-ext.h>

int main(int argc, char **argv)
{
    double in[7] = {0}, sum[7];
    int all[64];
    MPI_Request requests[2];
    start(&argc, &argv);
    in[3] = rank;
    MPIX_Allreduce_init(in, sum, 7, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPIX_Allgather_init(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(sum[3] == size * (size - 1) / 2);
    }
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(all[size - 1] == size - 1);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}

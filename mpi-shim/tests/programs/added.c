/* What MPI 4.0 added: large counts, exchanges that do not wait, persistent collective operations, partitioned messages, and
 * plain receives of what was sent with large counts. */
#include "cases.h"

#define LENGTH 64

int main(int argc, char **argv)
{
    int in[16 * LENGTH] = {0}, out[16 * LENGTH];
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Count counts[16];
    MPI_Aint places[16];
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        places[r] = r * LENGTH;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Isend_c(in, 5, MPI_INT, next, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(out, LENGTH, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isendrecv(in, 7, MPI_INT, next, 1, out, LENGTH, MPI_INT, before, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Allgatherv_c(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Bcast_c(in, 9, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce_init(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Request parts[2];
    MPI_Psend_init(in, 4, 6, MPI_INT, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[0]);
    MPI_Precv_init(out, 2, 12, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &parts[1]);
    MPI_Startall(2, parts);
    MPI_Pready_range(0, 3, parts[0]);
    MPI_Waitall(2, parts, MPI_STATUSES_IGNORE);
    MPI_Request_free(&parts[0]);
    MPI_Request_free(&parts[1]);
    MPI_Finalize();
    return 0;
}

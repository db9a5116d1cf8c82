/* Clocks that are left over, all of messages with tag 0: of a receive whose request is freed, of a message that nobody receives, and of
 * sends that MPI refuses. */
#include "cases.h"

int main(int argc, char **argv)
{
    static int in[3], out[3];
    int classes[2];
    MPI_Request request;
    start(&argc, &argv);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Irecv(&in[0], 1, MPI_INT, before, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    out[0] = rank + 1;
    MPI_Send(&out[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Send(&out[1], 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&out[2], 1, MPI_DATATYPE_NULL, next, 0, MPI_COMM_WORLD), &classes[0]);
    MPI_Error_class(MPI_Send(NULL, 1, MPI_INT, next, 0, MPI_COMM_WORLD), &classes[1]);
    CHECK(classes[0] == MPI_ERR_TYPE && classes[1] == MPI_ERR_BUFFER);
    /* Messages do not overtake each other: with this one the first is there. */
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &in[1], 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == before + 1 && in[1] == before);
    MPI_Finalize();
    if (rank == 0) printf("ended\n");
    return 0;
}

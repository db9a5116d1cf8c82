/* Messages of many sizes in rings of many widths, in each way that they can be sent and received, also on communicators whose ranks
 * have other numbers than in MPI_COMM_WORLD; `tests/traffic.rs` has the same plan. */
#include "cases.h"

#define ROUNDS 60
#define LENGTH 8192
#ifdef SMPI_H /* SimGrid's has none */
#define WITHOUT_MPROBE 1
#else
#define WITHOUT_MPROBE 0
#endif

static char in[LENGTH], out[LENGTH];

static void round_of(int i, MPI_Comm comm)
{
    int me, shift = size > 1 ? 1 + i % (size - 1) : 0, bytes = i % 5 ? i * i * 7 % 5000 : 0;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Comm copy = comm;
    MPI_Comm_rank(comm, &me);
    int to = (me + shift) % size, from = (me + size - shift) % size;
    switch (i % 6) {
    case 0:
        MPI_Sendrecv(in, bytes, MPI_BYTE, to, i, out, LENGTH, MPI_BYTE, from, i, comm, MPI_STATUS_IGNORE);
        MPI_Allreduce(in, out, i, MPI_BYTE, MPI_BOR, comm);
        return;
    case 1:
        MPI_Irecv(out, LENGTH, MPI_BYTE, from, i, comm, &requests[0]);
        MPI_Isend(in, bytes, MPI_BYTE, to, i, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        return;
    case 3:
        MPI_Recv_init(out, LENGTH, MPI_BYTE, from, i, comm, &requests[0]);
        MPI_Send_init(in, bytes, MPI_BYTE, to, i, comm, &requests[1]);
        for (int j = 0; j < 2; j++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        return;
    case 5: /* complete after their communicator is freed, whose handle the next round may get */
        MPI_Comm_dup(comm, &copy);
        MPI_Irecv(out, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, i, copy, &requests[0]);
        MPI_Isend(in, bytes, MPI_BYTE, to, i, copy, &requests[1]);
        MPI_Comm_free(&copy);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Isend(in, bytes, MPI_BYTE, to, i, comm, &requests[1]);
        if (i % 6 == 2 || WITHOUT_MPROBE) {
            MPI_Recv(out, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, i, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Mprobe(from, i, comm, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(out, LENGTH, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        }
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm backwards;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    for (int i = 0; i < ROUNDS; i++) round_of(i, i % 4 == 3 ? backwards : MPI_COMM_WORLD);
    MPI_Comm_free(&backwards);
    MPI_Finalize();
    return 0;
}

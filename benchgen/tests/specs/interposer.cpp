// Counts what the arguments of each MPI function say that it moves, per rank, and prints it when MPI ends. Written for
// itself, to compare the truth with.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <map>
#include <string>

namespace {

struct Moved {
    long long calls = 0, sent = 0, received = 0;
};
std::map<std::string, Moved> moved;

long long size_of(MPI_Datatype type, long long count) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return size * count;
}

int ranks() {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

bool is(int root) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == root;
}

void count(const char* function, long long sent, long long received) {
    Moved& entry = moved[function];
    entry.calls += 1;
    entry.sent += sent;
    entry.received += received;
}

}  // namespace

extern "C" {

int MPI_Bcast(void* a, int n, MPI_Datatype t, int root, MPI_Comm c) {
    count("MPI_Bcast", is(root) ? ranks() * size_of(t, n) : 0, size_of(t, n));
    return PMPI_Bcast(a, n, t, root, c);
}
int MPI_Gather(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int root, MPI_Comm c) {
    count("MPI_Gather", size_of(t, n), is(root) ? ranks() * size_of(u, m) : 0);
    return PMPI_Gather(a, n, t, b, m, u, root, c);
}
int MPI_Scatter(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int root, MPI_Comm c) {
    count("MPI_Scatter", is(root) ? ranks() * size_of(t, n) : 0, size_of(u, m));
    return PMPI_Scatter(a, n, t, b, m, u, root, c);
}
int MPI_Allgather(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c) {
    count("MPI_Allgather", ranks() * size_of(t, n), ranks() * size_of(u, m));
    return PMPI_Allgather(a, n, t, b, m, u, c);
}
int MPI_Alltoall(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c) {
    count("MPI_Alltoall", ranks() * size_of(t, n), ranks() * size_of(u, m));
    return PMPI_Alltoall(a, n, t, b, m, u, c);
}
int MPI_Reduce(const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c) {
    count("MPI_Reduce", size_of(t, n), is(root) ? size_of(t, n) : 0);
    return PMPI_Reduce(a, b, n, t, o, root, c);
}
int MPI_Allreduce(const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
    count("MPI_Allreduce", size_of(t, n), size_of(t, n));
    return PMPI_Allreduce(a, b, n, t, o, c);
}
int MPI_Barrier(MPI_Comm c) {
    count("MPI_Barrier", 0, 0);
    return PMPI_Barrier(c);
}
int MPI_Send(const void* a, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
    count("MPI_Send", to == MPI_PROC_NULL ? 0 : size_of(t, n), 0);
    return PMPI_Send(a, n, t, to, tag, c);
}
int MPI_Recv(void* a, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
    count("MPI_Recv", 0, from == MPI_PROC_NULL ? 0 : size_of(t, n));
    return PMPI_Recv(a, n, t, from, tag, c, s);
}
int MPI_Sendrecv(const void* a, int n, MPI_Datatype t, int to, int x, void* b, int m, MPI_Datatype u, int from, int y,
                 MPI_Comm c, MPI_Status* s) {
    count("MPI_Sendrecv", size_of(t, n), size_of(u, m));
    return PMPI_Sendrecv(a, n, t, to, x, b, m, u, from, y, c, s);
}
int MPI_Finalize() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const auto& entry : moved) {
        std::printf("moved %d %s %lld %lld %lld\n", rank, entry.first.c_str(), entry.second.calls, entry.second.sent,
                    entry.second.received);
    }
    return PMPI_Finalize();
}

}

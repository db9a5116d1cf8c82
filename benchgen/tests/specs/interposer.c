// Counts what the arguments of each MPI function say that it moves, per rank, and prints it when MPI ends; where the
// variable CORRUPT names a function, changes the last element of what that function receives. Written for itself, to
// compare the truth with. Serves programs in C, C++ and Fortran.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 11 };
static struct {
    const char* name;
    long long calls, sent, received;
} moved[FUNCTIONS];

static long long size_of(MPI_Datatype type, long long count) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return size * count;
}

static int ranks(void) {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

static int is(int root) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == root;
}

static void count(const char* function, long long sent, long long received) {
    for (int i = 0; i < FUNCTIONS; ++i) {
        if (moved[i].name == NULL) {
            moved[i].name = function;
        }
        if (strcmp(moved[i].name, function) == 0) {
            moved[i].calls += 1;
            moved[i].sent += sent;
            moved[i].received += received;
            return;
        }
    }
    abort();
}

static void done(const char* function, void* received, long long bytes) {
    const char* const wanted = getenv("CORRUPT");
    if (bytes > 0 && wanted != NULL && strcmp(wanted, function) == 0) {
        ((unsigned char*)received)[bytes - 1] ^= 1;
    }
}

static void report(void) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < FUNCTIONS && moved[i].name != NULL; ++i) {
        printf("moved %d %s %lld %lld %lld\n", rank, moved[i].name, moved[i].calls, moved[i].sent, moved[i].received);
    }
    fflush(stdout);
}

// Each MPI function twice, for C and for Fortran, whose own functions only programs in Fortran are linked with: the bytes sent and received, the buffer that is received into.
#define INTERPOSE(NAME, LOWER, PARAMETERS, ARGUMENTS, FORTRAN_PARAMETERS, FORTRAN_ARGUMENTS, CONVERT, SENT, RECEIVED, \
                  BUFFER)                                                                                          \
    int NAME PARAMETERS {                                                                                          \
        const long long sent = SENT, received = RECEIVED;                                                          \
        count(#NAME, sent, received);                                                                              \
        const int status = P##NAME ARGUMENTS;                                                                      \
        done(#NAME, BUFFER, received);                                                                             \
        return status;                                                                                             \
    }                                                                                                              \
    __attribute__((weak)) void p##LOWER FORTRAN_PARAMETERS;                                                                              \
    void LOWER FORTRAN_PARAMETERS {                                                                                \
        CONVERT;                                                                                                   \
        const long long sent = SENT, received = RECEIVED;                                                          \
        count(#NAME, sent, received);                                                                              \
        p##LOWER FORTRAN_ARGUMENTS;                                                                                \
        done(#NAME, BUFFER, received);                                                                             \
    }

#define ONE_TYPE const MPI_Datatype t = MPI_Type_f2c(*ft); const long long n = *fn
#define TWO_TYPES ONE_TYPE; const MPI_Datatype u = MPI_Type_f2c(*fu); const long long m = *fm
#define ROOT const int root = *froot

INTERPOSE(MPI_Bcast, mpi_bcast_, (void* a, int n, MPI_Datatype t, int root, MPI_Comm c), (a, n, t, root, c),
          (void* a, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* froot, MPI_Fint* c, MPI_Fint* e), (a, fn, ft, froot, c, e),
          ONE_TYPE; ROOT, is(root) ? ranks() * size_of(t, n) : 0, size_of(t, n), a)

#define TWO_BUFFERS \
    void *a, MPI_Fint *fn, MPI_Fint *ft, void *b, MPI_Fint *fm, MPI_Fint *fu
INTERPOSE(MPI_Gather, mpi_gather_,
          (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int root, MPI_Comm c),
          (a, n, t, b, m, u, root, c), (TWO_BUFFERS, MPI_Fint* froot, MPI_Fint* c, MPI_Fint* e),
          (a, fn, ft, b, fm, fu, froot, c, e), TWO_TYPES; ROOT, size_of(t, n), is(root) ? ranks() * size_of(u, m) : 0, b)
INTERPOSE(MPI_Scatter, mpi_scatter_,
          (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int root, MPI_Comm c),
          (a, n, t, b, m, u, root, c), (TWO_BUFFERS, MPI_Fint* froot, MPI_Fint* c, MPI_Fint* e),
          (a, fn, ft, b, fm, fu, froot, c, e), TWO_TYPES; ROOT, is(root) ? ranks() * size_of(t, n) : 0, size_of(u, m), b)
INTERPOSE(MPI_Allgather, mpi_allgather_,
          (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c), (a, n, t, b, m, u, c),
          (TWO_BUFFERS, MPI_Fint* c, MPI_Fint* e), (a, fn, ft, b, fm, fu, c, e), TWO_TYPES, ranks() * size_of(t, n),
          ranks() * size_of(u, m), b)
INTERPOSE(MPI_Alltoall, mpi_alltoall_,
          (const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c), (a, n, t, b, m, u, c),
          (TWO_BUFFERS, MPI_Fint* c, MPI_Fint* e), (a, fn, ft, b, fm, fu, c, e), TWO_TYPES, ranks() * size_of(t, n),
          ranks() * size_of(u, m), b)
INTERPOSE(MPI_Reduce, mpi_reduce_, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c),
          (a, b, n, t, o, root, c),
          (void* a, void* b, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* o, MPI_Fint* froot, MPI_Fint* c, MPI_Fint* e),
          (a, b, fn, ft, o, froot, c, e), ONE_TYPE; ROOT, size_of(t, n), is(root) ? size_of(t, n) : 0, b)
INTERPOSE(MPI_Allreduce, mpi_allreduce_, (const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
          (a, b, n, t, o, c),
          (void* a, void* b, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* o, MPI_Fint* c, MPI_Fint* e),
          (a, b, fn, ft, o, c, e), ONE_TYPE, size_of(t, n), size_of(t, n), b)
INTERPOSE(MPI_Barrier, mpi_barrier_, (MPI_Comm c), (c), (MPI_Fint * c, MPI_Fint* e), (c, e), , 0, 0, NULL)
INTERPOSE(MPI_Send, mpi_send_, (const void* a, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (a, n, t, to, tag, c),
          (void* a, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* froot, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* e),
          (a, fn, ft, froot, tag, c, e), ONE_TYPE; const int to = *froot, to == MPI_PROC_NULL ? 0 : size_of(t, n), 0, NULL)
INTERPOSE(MPI_Recv, mpi_recv_, (void* a, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s),
          (a, n, t, from, tag, c, s),
          (void* a, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* froot, MPI_Fint* tag, MPI_Fint* c, MPI_Fint* s, MPI_Fint* e),
          (a, fn, ft, froot, tag, c, s, e), ONE_TYPE; const int from = *froot, 0,
          from == MPI_PROC_NULL ? 0 : size_of(t, n), a)
INTERPOSE(MPI_Sendrecv, mpi_sendrecv_,
          (const void* a, int n, MPI_Datatype t, int to, int x, void* b, int m, MPI_Datatype u, int from, int y, MPI_Comm c,
           MPI_Status* s),
          (a, n, t, to, x, b, m, u, from, y, c, s),
          (void* a, MPI_Fint* fn, MPI_Fint* ft, MPI_Fint* to, MPI_Fint* x, void* b, MPI_Fint* fm, MPI_Fint* fu,
           MPI_Fint* from, MPI_Fint* y, MPI_Fint* c, MPI_Fint* s, MPI_Fint* e),
          (a, fn, ft, to, x, b, fm, fu, from, y, c, s, e), TWO_TYPES, size_of(t, n), size_of(u, m), b)

int MPI_Finalize(void) {
    report();
    return PMPI_Finalize();
}
__attribute__((weak)) void pmpi_finalize_(MPI_Fint* e);
void mpi_finalize_(MPI_Fint* e) {
    report();
    pmpi_finalize_(e);
}

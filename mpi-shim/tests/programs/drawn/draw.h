/* What the drawn programs in C and Fortran share: draws that all ranks make alike, a ledger by function, and what a collective operation is to move. Nothing here knows
 * MPI. */
#include <stdint.h>

/* At most so many ranks and elements, and types with so many bytes of data in an element; the last has gaps between six of the first. */
enum { RANKS = 9, ELEMENTS = 8, TYPES = 4 };
extern const int sizes[TYPES];

/* What is drawn; each of them has numbers of its own. */
enum { TYPE, COMM, ROOT, PLACE, FORM, COUNT, PEER, OPERATION, EDGE, WHERE };

/* The numbers that follow are those of this seed and turn. */
void draw_for(uint64_t seed, uint64_t turn);
/* The same on all ranks for the same arguments; below `most`. */
int drawn(int what, int one, int other, int most);
/* A draw that is 0 to ELEMENTS elements. */
int elements(int one, int other);

/* A call of MPI_ with this name, and the bytes that it moved here. Behind a prefix ("I", "R", "File_") the name goes on in small letters. */
void write_down(const char *prefix, const char *name, long sent, long received);
/* The same of a function with counts, which has another name where LARGE is defined. */
void write_down_counted(const char *prefix, const char *name, long sent, long received);
/* The ways to call a collective operation. A persistent one is prepared, and credited each time it starts. */
enum { BLOCKING, NONBLOCKING, PERSISTENT };
/* The calls of an operation in one of these ways, up to its end; a persistent one is started so many times. */
void write_down_way(int way, int has_counts, int starts, const char *name, long sent, long received);
/* One line "function calls sent received" each, in a file of this process: launchers mix what ranks print where that is long. */
void print_ledger(void);

enum { BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
       SCAN, EXSCAN, BARRIER, COLLECTIVES };
/* A collective operation as one rank calls it. */
struct plan {
    int kind, way, starts, root, type;
    /* This rank passes MPI_IN_PLACE. */
    int is_in_place;
    /* Elements of each block where all are alike; else of those that go to each rank and come from it. */
    int count, to[RANKS], from[RANKS];
    long sent, received;
};
/* The `number`-th one in this turn, in one of so many ways, and its lines in the ledger. */
void plan_collective(int number, int ways, int rank, int ranks, struct plan *plan);
void write_down_collective(const struct plan *plan);

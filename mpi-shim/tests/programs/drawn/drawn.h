/* What the families of drawn operations in C share. Each operation is one of a list, in turn, so that none is left out; its counts, type, root, peers and
 * communicator are drawn. The ledger is worked out from the blocks that go from rank to rank, or to and from memory or a file. */
#include "draw.h"
#include <mpi.h>

/* A function with counts, and their and displacements' types: the plain one, or with LARGE that for large counts, which MPI 4.0 has added. */
#ifdef LARGE
#define MPI(NAME) MPI_##NAME##_c
typedef MPI_Count Count;
typedef MPI_Aint Place;
#else
#define MPI(NAME) MPI_##NAME
typedef int Count, Place;
#endif
/* Calls one of the three functions that a collective operation has; the last came with MPI 4.0. */
#if MPI_VERSION >= 4
enum { WAYS_TO_CALL = 3 };
#define CALL_ONE(BLOCKS, GOES_ON, PREPARES, ...)                            \
    (way == BLOCKING      ? BLOCKS(__VA_ARGS__)                             \
     : way == NONBLOCKING ? GOES_ON(__VA_ARGS__, &request)                  \
                          : PREPARES(__VA_ARGS__, MPI_INFO_NULL, &request))
#else
enum { WAYS_TO_CALL = 2 };
#define CALL_ONE(BLOCKS, GOES_ON, PREPARES, ...) (way == BLOCKING ? BLOCKS(__VA_ARGS__) : GOES_ON(__VA_ARGS__, &request))
#endif
#define CALL_WAY(NAME, NONBLOCKING_NAME, ...) CALL_ONE(MPI(NAME), MPI(NONBLOCKING_NAME), MPI(NAME##_init), __VA_ARGS__)

enum { COMMS = 4 };
/* Bytes from the first to the last of one block, of which an element has 48. */
enum { BLOCK = ELEMENTS * 48 };

extern MPI_Comm comms[COMMS];
/* int, double, char, and six ints with gaps. Numbers can be added to each other in all but the third. */
extern MPI_Datatype types[TYPES];
/* Two blocks for each rank. */
enum { ROOM = 2 * RANKS * BLOCK };
extern char in[ROOM], out[ROOM];

/* The `number`-th operation of a family, on the communicator at this place. */
void collective(int number, int at), message(int number, int at), window(int number, int at), file(int number, int at), neighbourhood(int number, int at),
    communicator(int number, int at);
/* Completes what was called in one of the ways. */
void finish(int way, int starts, MPI_Request *request);
/* Frees what the family has made. */
void end_windows(void), end_files(void), end_neighbourhoods(void);

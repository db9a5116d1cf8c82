/* What the families of drawn operations in C share. Each operation is one of a list, in turn, so that none is left out; its counts, type, root, peers and
 * communicator are drawn. The ledger is worked out from the blocks that go from rank to rank, or to and from memory or a file. */
#include "draw.h"
#include <mpi.h>

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
void collective(int number, int at), message(int number, int at), window(int number, int at), file(int number, int at), neighbourhood(int number, int at);
/* Frees what the family has made. */
void end_windows(void), end_files(void), end_neighbourhoods(void);

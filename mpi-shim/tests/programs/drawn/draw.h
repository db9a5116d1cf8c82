/* What the drawn programs in C and Fortran share: draws that all ranks make alike, and a ledger by function. Nothing here knows MPI. */
#include <stdint.h>

/* What is drawn; each of them has numbers of its own. */
enum { TYPE, COMM, ROOT, PLACE, FORM, COUNT, PEER, OPERATION, EDGE, WHERE };

/* The numbers that follow are those of this seed and turn. */
void draw_for(uint64_t seed, uint64_t turn);
/* The same on all ranks for the same arguments; below `most`. */
int drawn(int what, int one, int other, int most);
/* A call of MPI_ with this name, and the bytes that it moved here. Behind a prefix ("I", "R", "File_") the name goes on in small letters. */
void write_down(const char *prefix, const char *name, long sent, long received);
/* One line "function calls sent received" each. */
void print_ledger(void);

/* As many communicators at a time as a library of MPI's users might want, of which MPICH 4.0 has room for 2,048. */
#include "cases.h"

enum { MANY = 900 };

int main(int argc, char **argv)
{
    static MPI_Comm all[MANY];
    int sum;
    start(&argc, &argv);
    for (int i = 0; i < MANY; i++) MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
    for (int i = 0; i < MANY; i++) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all[i]);
    for (int i = 0; i < MANY; i++) MPI_Comm_free(&all[i]);
    MPI_Finalize();
    return 0;
}

/* The last rank comes late to MPI_Finalize, by three seconds. */
#include "cases.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    start(&argc, &argv);
    if (rank == size - 1) sleep(3);
    MPI_Finalize();
    printf("rank %d leaves\n", rank);
    return 0;
}

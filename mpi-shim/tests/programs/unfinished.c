/* Ends without MPI_Finalize, as a program that calls exit does. */
#include "cases.h"

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d leaves\n", rank);
    return 0;
}

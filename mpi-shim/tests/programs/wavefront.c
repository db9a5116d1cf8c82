/* Sweeps over a grid of ranks, to and fro between two corners (Koch, Baker and Alcouffe): a rank receives from upstream in each
 * dimension, works, and sends downstream. argv: dimensions, sweeps, work in basic blocks, bytes of a message. */
#define _GNU_SOURCE
#include "cases.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    static char buffer[65536];
    int dims[3] = {0}, periods[3] = {0}, low[3], high[3];
    MPI_Comm grid;
    MPI_Init(&argc, &argv);
    int dimensions = argc > 1 ? atoi(argv[1]) : 3, sweeps = argc > 2 ? atoi(argv[2]) : 4;
    long work = argc > 3 ? atol(argv[3]) : 12345;
    int bytes = argc > 4 ? atoi(argv[4]) : 800;
    uint64_t *blocks = dlsym(RTLD_DEFAULT, "poise_thread");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, dimensions, dims);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &grid);
    for (int d = 0; d < dimensions; d++) MPI_Cart_shift(grid, d, 1, &low[d], &high[d]);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        int *upstream = sweep % 2 ? high : low, *downstream = sweep % 2 ? low : high;
        for (int d = 0; d < dimensions; d++) MPI_Recv(buffer, bytes, MPI_BYTE, upstream[d], 0, grid, MPI_STATUS_IGNORE);
        if (blocks) *blocks += work;
        for (int d = 0; d < dimensions; d++) MPI_Send(buffer, bytes, MPI_BYTE, downstream[d], 0, grid);
    }
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}

/* Each rank adds up `n` numbers; one allreduce of 3 doubles joins the results. argv[2] asks for a misfortune:
 * "crash" dies by a signal, "fail" ends with status 7, "leave" ends without MPI_Finalize, "hang" never ends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static double add_up(long n, int rank) {
    volatile double sum = 0;
    for (long i = 0; i < n; ++i)
        sum = sum + (double)(i % (rank + 2));
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long n = argc > 1 ? atol(argv[1]) : 1000;
    const char *misfortune = argc > 2 ? argv[2] : "";
    double mine[3] = {add_up(n, rank), 1, rank}, all[3];
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.0f from %.0f ranks\n", all[0], all[1]);
    fflush(stdout);
    if (!strcmp(misfortune, "crash"))
        abort();
    if (!strcmp(misfortune, "leave")) {
        /* The launcher may kill the others once one has left: not before the first has printed. */
        MPI_Barrier(MPI_COMM_WORLD);
        _Exit(0);
    }
    while (!strcmp(misfortune, "hang"))
        sleep(1);
    MPI_Finalize();
    return strcmp(misfortune, "fail") ? 0 : 7;
}

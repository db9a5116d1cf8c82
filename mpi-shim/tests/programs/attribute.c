/* Hangs an attribute on MPI_COMM_WORLD that may be copied as a pointer but deleted only once, and counts what MPI does
 * with it. */
#include "cases.h"

static int deleted;

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    deleted++;
    free(value);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyval;
    start(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, malloc(64));
    MPI_Finalize();
    if (rank == 0) printf("deleted %d times\n", deleted);
    return 0;
}

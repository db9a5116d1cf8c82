/* A tool that is asked where functions are in the place of the loader, as those that rewrite tables of functions are (GOTCHA): for MPI_Send it gives a function of its own
 * that calls the first of that name in the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

static int send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return MPI_Send(buffer, count, type, to, tag, comm);
}

void *dlsym(void *scope, const char *name)
{
#ifdef __x86_64__
    const char *version = "GLIBC_2.2.5";
#else
    const char *version = "GLIBC_2.17";
#endif
    void *(*loaders)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", version);
    return strcmp(name, "MPI_Send") ? loaders(scope, name) : (void *)send;
}

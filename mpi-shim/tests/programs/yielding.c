/* Linked into programs of MPICH, whose ranks spin while they wait: one that finds nothing lets the others on its core run, as Open MPI's do on request. MPICH's device for
 * UCX asks here whether there is something. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#ifdef __cplusplus
extern "C"
#endif
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    if (!progress) progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned events = progress(worker);
    if (!events) sched_yield();
    return events;
}

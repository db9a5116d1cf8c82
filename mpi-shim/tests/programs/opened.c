/* A program that is not linked with MPI, and opens a library that is only after a while. The arguments are the library and how it is used: "local" or "global" by its scope, in
 * a "thread", "closed" in the end, or ending MPI in a "destructor". Prints what its functions return. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *library;
static const char *how;

static int call(const char *name)
{
    int (*function)(void) = (int (*)(void))dlsym(library, name);
    return function ? function() : -1;
}

__attribute__((noinline)) static void *use(void *result)
{
    int *results = result;
    results[0] = call("use_begin");
    results[1] = call("use_compute");
    results[2] = call(strcmp(how, "destructor") ? "use_end" : "use_end_late");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int results[3], is_closed = 0;
    how = argv[2];
    usleep(50000);
    library = dlopen(argv[1], RTLD_NOW | (strcmp(how, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!library) return 1;
    if (strcmp(how, "thread") == 0) {
        if (pthread_create(&thread, NULL, use, results) || pthread_join(thread, NULL)) return 1;
    } else {
        use(results);
    }
    if (strcmp(how, "closed") == 0) is_closed = dlclose(library) == 0;
    printf("begins: %d, computes: %d, ends: %d, closed: %d\n", results[0], results[1], results[2], is_closed);
    return argc != 3;
}

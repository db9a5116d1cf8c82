/* Opens libraries that were linked with an MPI of their own, each into a scope of its own, and lets them begin, compute and end in turns.
 * Arguments: "together" or "successive", and the libraries. What each says is a line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *file;
    uint32_t line;
    uint16_t kind, flags;
} region = {"apart", 0, 0, 2, 0};

static int call(void *library, const char *name)
{
    int (*function)(void) = (int (*)(void))dlsym(library, name);
    return function ? function() : -1;
}

static void compute_and_end(int number, void *library)
{
    printf("%d computes: %d\n", number, call(library, "use_compute"));
    printf("%d ends: %d\n", number, call(library, "use_end"));
}

static void *opened(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

int main(int argc, char **argv)
{
    void *libraries[4] = {0};
    /* A region of its own, so that there is something to write a profile of. */
    void *(*enter)(const void *) = dlsym(RTLD_DEFAULT, "poise_enter");
    if (enter) enter(&region);
    if (strcmp(argv[1], "together") == 0) {
        /* Bound before any of them begins: Open MPI then shows its functions to all that are opened later. */
        for (int i = 2; i < argc; i++) libraries[i - 2] = opened(argv[i]);
        for (int i = 0; libraries[i]; i++) printf("%d begins: %d\n", i + 1, call(libraries[i], "use_begin"));
        for (int i = 0; libraries[i]; i++) compute_and_end(i + 1, libraries[i]);
        return 0;
    }
    for (int i = 2; i < argc; i++) {
        void *library = opened(argv[i]);
        printf("%d begins: %d\n", i - 1, call(library, "use_begin"));
        compute_and_end(i - 1, library);
    }
    return 0;
}

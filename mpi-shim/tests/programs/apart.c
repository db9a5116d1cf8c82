/* Opens libraries that were linked with an MPI of their own, each into a scope of its own, and lets them begin, compute and end in turns.
 * Arguments: "together" or "successive", and the libraries. What each says is a line. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    void *libraries[4] = {0};
    int successive = strcmp(argv[1], "successive") == 0;
    for (int i = 2; i < argc; i++) {
        if (!(libraries[i - 2] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        printf("%d begins: %d\n", i - 1, call(libraries[i - 2], "use_begin"));
        if (successive) compute_and_end(i - 1, libraries[i - 2]);
    }
    for (int i = 0; !successive && libraries[i]; i++) compute_and_end(i + 1, libraries[i]);
    return 0;
}

/* What the test programs share: named cases, each a region of its own around the MPI calls in it, and a check that
 * stops the run where MPI moved something else than the test means. Without the runtime the names do nothing. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct poise_region {
    const char *name;
    const char *file;
    uint32_t line;
    uint16_t kind, flags;
};
void *poise_enter(const struct poise_region *region) __attribute__((weak));
void poise_leave(void *token) __attribute__((weak));

#define CASE(NAME, ...)                                             \
    do {                                                            \
        static const struct poise_region region = {NAME, 0, 0, 2, 0};\
        void *token = poise_enter ? poise_enter(&region) : NULL;    \
        __VA_ARGS__;                                                \
        if (poise_leave) poise_leave(token);                        \
    } while (0)

#define CHECK(CONDITION)                                                              \
    do {                                                                              \
        if (!(CONDITION)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #CONDITION);   \
            MPI_Abort(MPI_COMM_WORLD, 9);                                             \
        }                                                                             \
    } while (0)

static int rank, size;

static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* What the library says of the calls that this process is within, read as poise run reads it, by the name of a variable. MPI's error handlers run within calls. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct calls {
    char mark[8];
    volatile uint64_t number;
};
static const struct calls *calls;
static uint64_t within;

static void in_a_call(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    within = calls->number;
}

static void in_a_files_call(MPI_File *file, int *error, ...)
{
    (void)file, (void)error;
    within = calls->number;
}

/* odd or even, or nothing where the number says nothing, and how far it has gone since */
static void say(const char *when, uint64_t number, uint64_t since)
{
    if (number >> 63) printf("%s: silent\n", when);
    else printf("%s: %s %d\n", when, number % 2 ? "within" : "outside", (int)(number - since));
}

int main(int argc, char **argv)
{
    int level;
    calls = dlsym(RTLD_DEFAULT, "poise_mpi_calls");
    assert(calls && !memcmp(calls->mark, "mpicalls", 8));
    say("before", calls->number, 0);
#if MPI_VERSION >= 4
    if (argc > 1 && !strcmp(argv[1], "session")) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        say("session", calls->number, 0);
        MPI_Session_finalize(&session);
        return 0;
    }
#endif
    if (argc > 1 && !strcmp(argv[1], "multiple")) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else if (argc > 1 && !strcmp(argv[1], "serialized")) MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    else MPI_Init(&argc, &argv);
    MPI_Query_thread(&level);
    printf("level: %s\n", level == MPI_THREAD_MULTIPLE ? "multiple" : "less");
    uint64_t since = calls->number;
    say("after", since, 0);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(in_a_call, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&level, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
    say("send", within, since);
    MPI_Barrier(MPI_COMM_WORLD);
    say("barrier", calls->number, since);
    MPI_File file;
    MPI_Errhandler of_files;
    MPI_File_create_errhandler(in_a_files_call, &of_files);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_files);
    within = 1;
    MPI_File_open(MPI_COMM_SELF, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    say("file", within, since);
    MPI_Finalize();
    say("end", calls->number, since);
    return 0;
}

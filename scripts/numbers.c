/* The bits of the results for scripts/applications: notes every floating-point number that a program prints, before it is rounded to the digits asked for, and
 * passes each call on untouched. C, C++ streams and gfortran's library (which prints the sign itself) all turn numbers into text by a function of the printf
 * family, so that this library stands in front of these. glibc itself says what arguments a format has. What other libraries print, such as MPI's transports
 * of their bandwidths, is not the program's. Numbers of 128 bits, which have a library of their own, are not seen. Each process appends its numbers to a file of
 * its rank, $NUMBERS.RANK, one a line after the rank, in hexadecimal, which has all their bits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <printf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { ARGUMENTS = 256 };
static int file = -1;
static const char *rank;
static Dl_info program;

__attribute__((constructor)) static void begin(void)
{
    const char *prefix = getenv("NUMBERS");
    char path[4096];
    rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    if (!prefix || !rank) return;
    if (strlen(prefix) + strlen(rank) + 2 > sizeof path || !dladdr((void *)getauxval(AT_ENTRY), &program)) abort();
    stpcpy(stpcpy(stpcpy(path, prefix), "."), rank);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) abort();
}

static int is_the_programs(void *caller)
{
    Dl_info object;
    return file >= 0 && dladdr(caller, &object) &&
           (object.dli_fbase == program.dli_fbase || strstr(object.dli_fname, "/libstdc++.") || strstr(object.dli_fname, "/libgfortran."));
}

static void note(long double number)
{
    if (dprintf(file, "%s %La\n", rank, number) < 0) abort();
}

static void look(void *caller, const char *format, va_list given)
{
    int types[ARGUMENTS];
    if (!is_the_programs(caller)) return;
    size_t count = parse_printf_format(format, ARGUMENTS, types);
    if (count > ARGUMENTS) abort();
    va_list arguments;
    va_copy(arguments, given);
    for (size_t i = 0; i < count; i++) {
        int kind = types[i] & ~PA_FLAG_MASK;
        if (types[i] & PA_FLAG_PTR || kind == PA_STRING || kind == PA_WSTRING || kind == PA_POINTER) {
            va_arg(arguments, void *);
        } else if (kind == PA_FLOAT || kind == PA_DOUBLE) {
            note(types[i] & PA_FLAG_LONG_DOUBLE ? va_arg(arguments, long double) : va_arg(arguments, double));
        } else if (types[i] & (PA_FLAG_LONG | PA_FLAG_LONG_LONG)) {
            va_arg(arguments, long);
        } else {
            va_arg(arguments, int);
        }
    }
    va_end(arguments);
}

/* A function that takes its arguments as a list, after as many others as it has. */
#define PRINTS_LIST(name, parameters, ...) \
    int name parameters \
    { \
        look(__builtin_return_address(0), format, arguments); \
        return ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__, arguments); \
    }

/* One that takes them one by one is the same as another that takes a list. */
#define PRINTS(name, parameters, list, ...) \
    int name parameters \
    { \
        va_list arguments; \
        va_start(arguments, format); \
        look(__builtin_return_address(0), format, arguments); \
        int length = ((__typeof__(&list))dlsym(RTLD_NEXT, #list))(__VA_ARGS__, arguments); \
        va_end(arguments); \
        return length; \
    }

PRINTS_LIST(vprintf, (const char *format, va_list arguments), format)
PRINTS_LIST(vfprintf, (FILE *to, const char *format, va_list arguments), to, format)
PRINTS_LIST(vsprintf, (char *to, const char *format, va_list arguments), to, format)
PRINTS_LIST(vsnprintf, (char *to, size_t size, const char *format, va_list arguments), to, size, format)
PRINTS(printf, (const char *format, ...), vprintf, format)
PRINTS(fprintf, (FILE *to, const char *format, ...), vfprintf, to, format)
PRINTS(sprintf, (char *to, const char *format, ...), vsprintf, to, format)
PRINTS(snprintf, (char *to, size_t size, const char *format, ...), vsnprintf, to, size, format)

/* The same with the checks that a compiler may ask for. */
PRINTS_LIST(__vprintf_chk, (int flag, const char *format, va_list arguments), flag, format)
PRINTS_LIST(__vfprintf_chk, (FILE *to, int flag, const char *format, va_list arguments), to, flag, format)
PRINTS_LIST(__vsprintf_chk, (char *to, int flag, size_t room, const char *format, va_list arguments), to, flag, room, format)
PRINTS_LIST(__vsnprintf_chk, (char *to, size_t size, int flag, size_t room, const char *format, va_list arguments), to, size, flag, room, format)
PRINTS(__printf_chk, (int flag, const char *format, ...), __vprintf_chk, flag, format)
PRINTS(__fprintf_chk, (FILE *to, int flag, const char *format, ...), __vfprintf_chk, to, flag, format)
PRINTS(__sprintf_chk, (char *to, int flag, size_t room, const char *format, ...), __vsprintf_chk, to, flag, room, format)
PRINTS(__snprintf_chk, (char *to, size_t size, int flag, size_t room, const char *format, ...), __vsnprintf_chk, to, size, flag, room, format)

/* A second pair of eyes for scripts/applications: counts a program's own MPI calls in front of the shim, and passes each on untouched. It knows nothing of MPI
 * and nothing of the shim. names.h, made from the functions that the program imports, has one line SEEN(number, name) for each; a call is the program's if it
 * returns into the program's own code, so that what MPI's Fortran interface or file layer calls does not count. Each process appends its counts to a file of
 * its own, $WITNESS.PID, when it ends. Compiled with -DCONTROL=N it changes one bit of every N-th message of each rank. For x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN(number, name) #name,
static const char *names[] = {
#include "names.h"
};
#undef SEEN

enum { FUNCTIONS = sizeof names / sizeof names[0] };
static unsigned long calls[FUNCTIONS];
static void *next[FUNCTIONS];
static uintptr_t code_begin = UINTPTR_MAX, code_end;

/* Where the program's own code lies: the first object that the loader names is the program. */
static int find_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (begin < code_begin) code_begin = begin;
        if (begin + part->p_memsz > code_end) code_end = begin + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) { dl_iterate_phdr(find_code, NULL); }

#ifdef CONTROL
/* Inverts the last bit of the first number in every N-th message that begins with a floating-point number of usual size. All of these functions take the message
 * as their first argument. */
static void change(const char *name, uint64_t *message)
{
    static int messages;
    if (!strcasestr(name, "send") && !strcasestr(name, "reduce") && !strcasestr(name, "alltoall")) return;
    if ((uintptr_t)message + 1 < 4096) return; /* MPI_IN_PLACE, which is 1 or -1 in C, or no message at all */
    int exponent = (int)(*message >> 52 & 2047) - 1023;
    if (exponent > -100 && exponent < 100 && ++messages % CONTROL == 0) *message ^= 1;
}
#endif

/* Counts a call, and says where it goes on. */
__attribute__((used)) static void *witness_see(unsigned long number, uintptr_t returns_to, uint64_t *first)
{
#ifdef CONTROL
    change(names[number], first);
#else
    (void)first;
#endif
    if (returns_to >= code_begin && returns_to < code_end) __atomic_fetch_add(&calls[number], 1, __ATOMIC_RELAXED);
    void *function = __atomic_load_n(&next[number], __ATOMIC_RELAXED);
    if (!function) {
        function = dlsym(RTLD_NEXT, names[number]);
        if (!function) abort();
        __atomic_store_n(&next[number], function, __ATOMIC_RELAXED);
    }
    return function;
}

__attribute__((destructor)) static void end(void)
{
    const char *prefix = getenv("WITNESS");
    char path[4096];
    int any = 0;
    for (int i = 0; i < FUNCTIONS; i++) any |= calls[i] != 0;
    if (!prefix || !any || snprintf(path, sizeof path, "%s.%d", prefix, (int)getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "a");
    if (!file) return;
    for (int i = 0; i < FUNCTIONS; i++) fprintf(file, "%s %lu\n", names[i], calls[i]);
    fclose(file);
}

/* Every register that an argument may be in is put away while the call is counted; then the next function takes the program's call as it is, with the
 * program's return address. No MPI function has an argument in a floating-point register. */
__asm__(".text\n.type witness_pass, @function\nwitness_pass:\n"
        "push %rax\n push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n push %r10\n"
        "mov 64(%rsp), %rdi\n mov 72(%rsp), %rsi\n mov 48(%rsp), %rdx\n call witness_see\n mov %rax, %r11\n"
        "pop %r10\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n pop %rax\n"
        "lea 8(%rsp), %rsp\n jmp *%r11\n");
#define SEEN(number, name) \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ":\n push $" #number "\n jmp witness_pass\n");
#include "names.h"

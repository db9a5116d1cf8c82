/* The runtime's C interface: what instrumented code (see ../pass) and the MPI shim (see ../../mpi-shim) call.
 *
 * Everything is inert unless POISE_PROFILE is set in the environment when the process starts: enter and leave then
 * return at once and nothing is written. No function takes a lock that another thread could hold across a call into
 * the measured program; none raises or handles a signal; none unwinds; none changes errno. */
#ifndef POISE_RUNTIME_H
#define POISE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function or MPI operation, one static object per function and shared object; the pass emits them.
 * Strings are NUL-terminated and live as long as the process. Names are as the linker knows them (mangled);
 * the reader of a profile demangles. */
struct poise_region {
    const char *name;
    const char *file; /* source file, or NULL where unknown */
    uint32_t line;    /* 0 where unknown */
    uint16_t kind;    /* enum poise_kind */
    uint16_t flags;   /* of enum poise_flags, those that hold */
};

enum poise_kind { POISE_FUNCTION = 0, POISE_MPI = 1, POISE_USER = 2, POISE_INLINED = 3, POISE_UNRECORDED = 4 };

/* POISE_UNRECORDED stands for all MPI operations of which the program wants no record: what is told of one moves the clocks and is then
 * forgotten, and what it calls back stands below its caller. */

/* POISE_LOOPS: of the function's blocks its entry and the headers of its loops alone count. POISE_PARTS: functions inlined into it count for
 * themselves, by poise_inlined. */
enum poise_flags { POISE_LOOPS = 1, POISE_PARTS = 2 };

/* An inlined function and what it was inlined into, up to the function that was entered, whose place NULL takes. Regions of inlined functions
 * are of the kind POISE_INLINED. */
struct poise_inlined {
    const struct poise_inlined *outer;
    const struct poise_region *region;
};

/* Per thread. Instrumented code adds its block counts straight to `blocks` (initial-exec TLS); enter and leave
 * attribute the difference since the last of them to the call path that is current, so the total per thread is exact
 * whatever leaves a function by which way. `current` is what poise_here gives. A function that is entered may call itself without entering
 * again as long as that is its own call path, and adds one to `poise_again` for each such visit. The rest is the runtime's own. */
struct poise_thread {
    uint64_t blocks;
    void *current;
    uint64_t reserved[6];
};
#ifdef __cplusplus
extern __thread struct poise_thread poise_thread __attribute__((tls_model("initial-exec")));
extern __thread const struct poise_inlined *poise_site __attribute__((tls_model("initial-exec")));
extern __thread uint64_t poise_again __attribute__((tls_model("initial-exec")));
#else
extern _Thread_local struct poise_thread poise_thread __attribute__((tls_model("initial-exec")));
extern _Thread_local const struct poise_inlined *poise_site __attribute__((tls_model("initial-exec")));
extern _Thread_local uint64_t poise_again __attribute__((tls_model("initial-exec")));
#endif

/* Inlined functions. Before each call, a function that has inlined ones stores into `poise_site` in which of them the call stands, or NULL;
 * what poise_enter enters goes below it. poise_enter clears it, and the matching poise_leave puts it back, so that all that one call of a library
 * calls back goes below. poise_inlined counts `blocks` for one of them below the current call
 * path, NULL being that itself; they are not to be added to poise_thread.blocks. It is called wherever control may leave the function, and
 * where a loop has ended and an accumulator holds 4096 blocks or more, so that bins of effort know when these were executed. */
void poise_inlined(const struct poise_inlined *inlined, uint64_t blocks);

/* Enters `region` below the current call path; the result goes to the matching poise_leave. Leaving an outer token
 * leaves everything entered since (exceptions, longjmp). NULL when nothing is measured.
 * A region that is on the current call path already is recursion: its call path becomes current again, so that
 * recursion of any depth needs no memory. */
void *poise_enter(const struct poise_region *region);
void poise_leave(void *token);

/* Makes the call path current again that poise_enter(region) entered when it returned `token`: where control comes
 * back to a function other than by a return (a caught exception, a second return of setjmp). */
void poise_resume(void *token, const struct poise_region *region);

/* The same by the call path itself, as it is after poise_enter; NULL does nothing. */
void *poise_here(void);
void poise_return_to(void *here);

/* What one MPI call moved, added to the current call path, between poise_enter and poise_leave of a POISE_MPI region.
 * Bytes by the standard's meaning of the arguments; comm_size in ranks, of which the largest seen is kept. */
void poise_mpi_moved(uint64_t bytes_sent, uint64_t bytes_received, uint32_t comm_size);

/* The same of one message with another rank, in place of poise_mpi_moved: `peer` is its number in MPI_COMM_WORLD, UINT32_MAX where it
 * has none. */
void poise_mpi_message(int is_received, uint32_t peer, uint64_t bytes, uint32_t comm_size);

/* Around one MPI call, between poise_enter and poise_call_leaves: poise_call_begins first, then what the shim does itself, then
 * poise_call_proceeds, the call, poise_call_ends, and again what the shim does itself. Only the time between
 * poise_call_proceeds and poise_call_ends is the operation's; the shim's own counts for nobody, but that after poise_call_ends is the caller's
 * where `was_long` is 0: work that takes no longer than reading the clock. Should an exception pass, poise_leave is enough.
 * `is_test` says that the operation asks without waiting (MPI_Test, MPI_Iprobe, ...); where it came to nothing,
 * poise_tested_in_vain follows poise_call_ends: the operation's time is then waiting. What the thread executes between such a test and the next
 * MPI operation is no effort but polling if that is a test too, and what the shim did itself after the first one is then of its time and waiting as well. `stamp` becomes the thread's moment at entry. */
struct poise_stamp {
    uint64_t clock; /* the logical clock: blocks executed without polling, waiting and messages */
    uint64_t time;  /* in ticks of the clock that times are measured with, comparable within one node */
};
void poise_call_begins(int is_test, struct poise_stamp *stamp);
void poise_call_proceeds(void);
void poise_call_ends(void);
void poise_call_leaves(void *token, int was_long);
void poise_tested_in_vain(const struct poise_stamp *entry);

/* After poise_call_ends: the operation that began at `entry` could not end before `other`. The logical clock is set to the later
 * of both and then ahead by `cost`; what it was set ahead by the first is logical waiting, and the time between entry and the other's
 * is waiting as far as it lies inside the operation; for a late sender if `is_message`. `entry` moves to where the waiting ended. */
void poise_awaited(struct poise_stamp *entry, const struct poise_stamp *other, uint64_t cost, int is_message);

/* The clock now; and when the current call path's thread last told that an MPI operation ended (poise_call_ends). In ticks. */
uint64_t poise_now(void);
uint64_t poise_call_end(void);

/* The current call path's operation, which has just ended (poise_call_ends), and to which any thread may later add ticks that it waited
 * for a receiver, until `before` ticks before it ended, once: that gives the credit back. NULL does nothing. */
void *poise_credit(void);
void poise_credit_late_receiver(void *credit, uint64_t ticks, uint64_t before);

/* Waiting is measured: the profile has logical_wait and wait_time. */
void poise_measure_waiting(void);

/* Something that concerns all ranks of the run, said by the first of them that gets here: why there is no profile (`what` has neither
 * capital nor full stop; what is saved is added); or, if `is_waiting`, a whole line on why waiting is not measured. */
void poise_fail(const char *what, int is_waiting);

/* Never to be called. Code that the pass instrumented refers to this by name, and to all else weakly, so that a link without the runtime
 * fails in one line that says what to do. */
void *poise_runtime_is_missing_link_with_poise_cc_or_lpoise_runtime(void);

/* 1 when this process measures. */
int poise_active(void);

/* The shim takes over the writing of the profile: the runtime then writes none at process exit, and says on standard
 * error that MPI_Finalize was never reached where poise_take_profile was not called. */
void poise_claim_output(void);

/* This process's profile so far, all threads merged, encoded as docs/formats.md says, as rank `rank`. The bytes are
 * released with poise_release. NULL when nothing is measured or memory ran out. */
uint8_t *poise_take_profile(uint32_t rank, size_t *length);
void poise_release(uint8_t *bytes, size_t length);

/* The profile of the whole run is on disk, and what this process had given is in it: its checkpoint goes. Without this it stays. */
void poise_profile_is_written(void);

/* Where several ranks are coroutines of one thread (SimGrid's SMPI): takes the current call path off the thread, into 64
 * bytes of the caller's, before another coroutine may run, and puts it back when this one runs again. A coroutine that
 * runs for the first time thus finds a thread that has entered nothing. poise_take_coroutine is poise_take_profile of
 * the calling coroutine alone; what it enters afterwards counts for nobody. */
void poise_suspend(void *suspended);
void poise_proceed(const void *suspended);
uint8_t *poise_take_coroutine(uint32_t rank, size_t *length);

/* Path that the profile is to be written to (POISE_PROFILE), or NULL. */
const char *poise_output_path(void);

#ifdef __cplusplus
}
#endif
#endif

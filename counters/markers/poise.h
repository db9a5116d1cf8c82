/* Regions marked by hand, in C and C++: parts of a program that are call paths of their own, by name.
 *
 *     POISE_BEGIN("solve");                  C and C++: from here
 *     POISE_END("solve");                    to here
 *     poise::region solve("solve");          C++: to the end of the block, whatever way it is left
 *
 * Nothing needs to be linked: without Counterpoise's runtime in the process, or when it does not measure, a mark is one
 * load and one branch that is never taken. Regions nest, and each ends in the function in which it
 * began. What does not match is counted, and told in one line at the end. */
#ifndef POISE_H
#define POISE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One place in the program: the region's name, and what the runtime keeps there. */
struct poise_mark {
    const char *name;
    void *region;
};

/* Whether marks are to be told; one for each program and shared library. */
struct poise_marks {
    int on;
    struct poise_marks *next;
};

/* The runtime's functions; null where it is not there. */
extern void poise_marks_attach(struct poise_marks *marks) __attribute__((weak, nothrow));
extern void poise_region_begin(struct poise_mark *mark) __attribute__((weak, nothrow));
extern void poise_region_end(struct poise_mark *mark) __attribute__((weak, nothrow));

/* Weak: the files of a program share one. Hidden: reached without a table. */
__attribute__((weak, visibility("hidden"))) struct poise_marks poise_marks_;

__attribute__((constructor, no_profile_instrument_function, unused)) static void poise_marks_start_(void) {
    if (poise_marks_attach) poise_marks_attach(&poise_marks_);
}

#ifdef __cplusplus
}
#endif

#define POISE_TELL_(FUNCTION, NAME)                                                                                    \
    do {                                                                                                               \
        static struct poise_mark poise_mark_here_ = {NAME, NULL};                                                      \
        if (__builtin_expect(poise_marks_.on, 0)) FUNCTION(&poise_mark_here_);                                         \
    } while (0)

/* NAME is a string literal. For names that are made while the program runs, see below. */
#define POISE_BEGIN(NAME) POISE_TELL_(poise_region_begin, NAME)
#define POISE_END(NAME) POISE_TELL_(poise_region_end, NAME)

/* As POISE_BEGIN and POISE_END, with any string, which is copied when it is new. */
#define POISE_BEGIN_NAMED(NAME) POISE_TELL_NAMED_(poise_region_begin, NAME)
#define POISE_END_NAMED(NAME) POISE_TELL_NAMED_(poise_region_end, NAME)
#define POISE_TELL_NAMED_(FUNCTION, NAME)                                                                              \
    do {                                                                                                               \
        if (__builtin_expect(poise_marks_.on, 0)) {                                                                    \
            struct poise_mark poise_mark_here_ = {NAME, NULL};                                                         \
            FUNCTION(&poise_mark_here_);                                                                               \
        }                                                                                                              \
    } while (0)

#ifdef __cplusplus
namespace poise {

/* A region that begins here and ends with the block, by return, break or exception. */
class region {
  public:
    __attribute__((always_inline)) explicit region(const char *name) : mark_{name, nullptr} {
        if (__builtin_expect(poise_marks_.on, 0)) poise_region_begin(&mark_);
    }
    __attribute__((always_inline)) ~region() {
        if (__builtin_expect(poise_marks_.on, 0)) poise_region_end(&mark_);
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

  private:
    poise_mark mark_;
};

} // namespace poise
#endif
#endif

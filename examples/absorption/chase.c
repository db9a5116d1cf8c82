// A chase through memory in random order, as lat_mem_rd of LMBench: each load's address is what the last one loaded.
// Usage: chase MEBIBYTES STEPS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct line {
    struct line *next;
    char rest[56];
};

__attribute__((noinline)) const struct line *chase(const struct line *at, long steps) {
    for (long i = 0; i < steps; i++)
        at = at->next;
    return at;
}

int main(int argc, char **argv) {
    size_t size = (size_t)(argc > 1 ? atol(argv[1]) : 256) << 20, count = size / sizeof(struct line);
    long steps = argc > 2 ? atol(argv[2]) : 20000000;
    struct line *lines = aligned_alloc(1 << 21, size);
    madvise(lines, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < count; i++)
        lines[i].next = &lines[i];
    // Sattolo's shuffle: one cycle through all lines.
    uint64_t random = 1;
    for (size_t i = count - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t other = (size_t)(random >> 33) % i;
        struct line *next = lines[i].next;
        lines[i].next = lines[other].next;
        lines[other].next = next;
    }
    const struct line *end = lines;
    for (long done = 0; done < steps; done += 1 << 20)
        end = chase(end, 1 << 20);
    printf("%ld\n", (long)(end - lines));
}

// Looks numbers up in a large table, but only for entries that pass a test: as the paper's EdgeMapDense does. With an argument
// of 1 the entries are sorted, so that the test is easy to predict; the work is the same.
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 1 << 16, TABLE = 1 << 22 };
static unsigned keys[ENTRIES], table[TABLE];

static unsigned state = 1;
static unsigned chance(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int order(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) void note(unsigned *sum, unsigned value) { *sum += value; }

__attribute__((noinline)) unsigned look(void) {
    unsigned sum = 0;
    for (int i = 0; i < ENTRIES; ++i)
        if (keys[i] & (1u << 23)) note(&sum, table[keys[i] * 2654435761u >> 10]);
    return sum;
}

int main(int count, char **values) {
    for (int i = 0; i < ENTRIES; ++i) keys[i] = chance();
    if (count > 1 && atoi(values[1])) qsort(keys, ENTRIES, sizeof *keys, order);
    for (int i = 0; i < TABLE; i += 1024) table[i] = i;
    printf("%u\n", look());
    return 0;
}

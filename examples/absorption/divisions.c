// A chain of divisions, each of which waits for the one before.
// Usage: divisions ELEMENTS REPETITIONS
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) double divisions(const double *x, long count, double last) {
    for (long i = 0; i < count; i++) {
        last = 1.0 / (last + x[i]);
        last = 1.0 / (last + 2.0);
        last = 1.0 / (last + x[i]);
    }
    return last;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    long n = atol(argv[1]), repetitions = atol(argv[2]);
    double *x = malloc((size_t)n * sizeof *x), total = 0;
    for (long i = 0; i < n; i++)
        x[i] = 1.0 + (double)(i % 3);
    for (long repetition = 0; repetition < repetitions; repetition++)
        total += divisions(x, n, total);
    printf("%g\n", total);
    free(x);
}

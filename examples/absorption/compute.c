// A kernel that computes much on little data, as HACCmk does: a polynomial per element, from the first-level cache.
// Usage: compute ELEMENTS REPETITIONS
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void evaluate(double *restrict to, const double *restrict x, long n) {
    for (long i = 0; i < n; i++) {
        double v = x[i], p = 0.25, q = 0.5;
        for (int term = 0; term < 16; term++) {
            p = p * v + 0.125;
            q = q * v + 0.0625;
        }
        to[i] = p * q;
    }
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000, repetitions = argc > 2 ? atol(argv[2]) : 100000;
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    for (long i = 0; i < n; i++)
        x[i] = 1.0 / (double)(i + 2);
    for (long repetition = 0; repetition < repetitions; repetition++)
        evaluate(y, x, n);
    printf("%g\n", y[n - 1]);
}

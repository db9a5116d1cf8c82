// A triad or a sum over data that a cache holds: the one waits for lines, the other for its own additions.
// Usage: cached triad|sum KIBIBYTES REPETITIONS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void triad(double *restrict to, const double *restrict x, const double *restrict y, long count) {
    for (long i = 0; i < count; i++)
        to[i] = x[i] + 3.0 * y[i];
}

__attribute__((noinline)) double sum(const double *x, long count) {
    double total = 0;
    for (long i = 0; i < count; i++)
        total += x[i];
    return total;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int is_triad = !strcmp(argv[1], "triad");
    long all = atol(argv[2]) * 1024 / (long)sizeof(double), repetitions = atol(argv[3]);
    long n = is_triad ? all / 3 : all;
    double *data = malloc((size_t)all * sizeof *data), total = 0;
    for (long i = 0; i < all; i++)
        data[i] = (double)(i % 5);
    for (long repetition = 0; repetition < repetitions; repetition++) {
        // Else the sum would be the same each time, and computed once.
        data[0] = (double)(repetition % 3);
        if (is_triad)
            triad(data, data + n, data + 2 * n, n);
        else
            total += sum(data, n);
    }
    printf("%g\n", data[0] + total);
    free(data);
}

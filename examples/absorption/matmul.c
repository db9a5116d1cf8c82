// The matrix product of Delval et al., figure 4: a row times a column, innermost. Usage: matmul SIDE REPETITIONS
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void multiply(int n, const double *a, const double *b, double *c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, repetitions = argc > 2 ? atoi(argv[2]) : 100;
    size_t size = (size_t)n * n;
    double *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b), *c = malloc(size * sizeof *c);
    for (size_t i = 0; i < size; i++) {
        a[i] = (double)(i % 7);
        b[i] = (double)(i % 5);
    }
    for (int repetition = 0; repetition < repetitions; repetition++)
        multiply(n, a, b, c);
    printf("%g\n", c[size - 1]);
}

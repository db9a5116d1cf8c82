/* Dense matrix product, nested affine loops. */
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void gemm(int n, const double *restrict a, const double *restrict b, double *restrict c) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
int main(void) {
    int n = 600;
    double *a = malloc(8 * n * n), *b = malloc(8 * n * n), *c = calloc(n * n, 8);
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    for (int r = 0; r < 5; r++) gemm(n, a, b, c);
    printf("%g\n", c[n + 3]);
}

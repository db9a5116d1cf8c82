/* Jacobi iteration in two dimensions with a conditional in the innermost loop. */
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void sweep(int n, const double *restrict a, double *restrict b) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            double next = 0.25 * (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
            b[i * n + j] = next > 0.5 ? next : 0.5 * next;
        }
}
int main(void) {
    int n = 700;
    double *a = calloc(n * n, 8), *b = calloc(n * n, 8);
    for (int i = 0; i < n * n; i++) a[i] = b[i] = i % 11;
    for (int r = 0; r < 300; r++) sweep(n, a, b), sweep(n, b, a);
    printf("%g\n", a[n * n / 2 + 7]);
}

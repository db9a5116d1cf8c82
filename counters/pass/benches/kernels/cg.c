/* Conjugate gradients on a sparse matrix in compressed rows: indirect loads, short inner loops. */
#include <stdio.h>
#include <stdlib.h>
static int n = 200 * 200, *start, *column;
static double *value;
__attribute__((noinline)) static void multiply(const double *x, double *y) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}
__attribute__((noinline)) static double dot(const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}
__attribute__((noinline)) static void combine(double *x, double f, const double *y) {
    for (int i = 0; i < n; i++) x[i] += f * y[i];
}
int main(void) {
    int side = 200, used = 0;
    start = malloc(4 * (n + 1)), column = malloc(20 * n), value = malloc(40 * n);
    for (int i = 0; i < n; i++) {
        start[i] = used;
        int row = i / side, place = i % side;
        if (row) column[used] = i - side, value[used++] = -1;
        if (place) column[used] = i - 1, value[used++] = -1;
        column[used] = i, value[used++] = 4;
        if (place + 1 < side) column[used] = i + 1, value[used++] = -1;
        if (row + 1 < side) column[used] = i + side, value[used++] = -1;
    }
    start[n] = used;
    double *x = calloc(n, 8), *r = malloc(8 * n), *p = malloc(8 * n), *q = malloc(8 * n);
    for (int i = 0; i < n; i++) r[i] = p[i] = 1;
    double rho = dot(r, r);
    for (int step = 0; step < 1200; step++) {
        multiply(p, q);
        double alpha = rho / dot(p, q);
        combine(x, alpha, p);
        combine(r, -alpha, q);
        double next = dot(r, r);
        if (step % 250 == 249) {
            for (int i = 0; i < n; i++) r[i] = p[i] = 1 + i % 3;
            next = dot(r, r);
        }
        double beta = next / rho;
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
        rho = next;
        if (rho < 1e-300) rho = 1;
    }
    printf("%.6g\n", x[n / 2]);
}

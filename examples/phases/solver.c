// A sparse solver: conjugate gradients with an incomplete Cholesky preconditioner without fill-in, for the Poisson equation on a
// square, matrix in compressed rows. Arguments: points along an edge, iterations.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int rows;
    int *start, *column;
    double *value;
} Matrix;

__attribute__((noinline)) Matrix assemble(int edge) {
    Matrix a = {edge * edge, malloc((edge * edge + 1) * sizeof(int)), malloc(5 * edge * edge * sizeof(int)), malloc(5 * edge * edge * sizeof(double))};
    int filled = 0;
    for (int y = 0; y < edge; ++y)
        for (int x = 0; x < edge; ++x) {
            int row = y * edge + x, to[5] = {row - edge, row - 1, row, row + 1, row + edge};
            int there[5] = {y > 0, x > 0, 1, x < edge - 1, y < edge - 1};
            a.start[row] = filled;
            for (int k = 0; k < 5; ++k)
                if (there[k]) a.column[filled] = to[k], a.value[filled++] = k == 2 ? 4.0 : -1.0;
        }
    a.start[a.rows] = filled;
    return a;
}

/// The diagonal of the incomplete factor; off the diagonal it is the matrix.
__attribute__((noinline)) void factorise(const Matrix *a, double *diagonal) {
    for (int row = 0; row < a->rows; ++row) {
        double sum = 0;
        for (int k = a->start[row]; k < a->start[row + 1]; ++k) {
            int column = a->column[k];
            if (column < row) sum += a->value[k] * a->value[k] / diagonal[column];
        }
        diagonal[row] = 4.0 - sum;
    }
}

__attribute__((noinline)) void multiply(const Matrix *a, const double *x, double *y) {
    for (int row = 0; row < a->rows; ++row) {
        double sum = 0;
        for (int k = a->start[row]; k < a->start[row + 1]; ++k) sum += a->value[k] * x[a->column[k]];
        y[row] = sum;
    }
}

/// Forward and backward substitution.
__attribute__((noinline)) void precondition(const Matrix *a, const double *diagonal, const double *r, double *z) {
    for (int row = 0; row < a->rows; ++row) {
        double sum = r[row];
        for (int k = a->start[row]; a->column[k] < row; ++k) sum -= a->value[k] * z[a->column[k]];
        z[row] = sum / diagonal[row];
    }
    for (int row = a->rows - 1; row >= 0; --row) {
        double sum = 0;
        for (int k = a->start[row + 1] - 1; a->column[k] > row; --k) sum += a->value[k] * z[a->column[k]];
        z[row] -= sum / diagonal[row];
    }
}

__attribute__((noinline)) double dot(int n, const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

__attribute__((noinline)) void add(int n, double factor, const double *x, double *y) {
    for (int i = 0; i < n; ++i) y[i] += factor * x[i];
}

int main(int count, char **values) {
    int edge = count > 1 ? atoi(values[1]) : 200, iterations = count > 2 ? atoi(values[2]) : 8;
    Matrix a = assemble(edge);
    int n = a.rows;
    double *diagonal = malloc(n * sizeof(double)), *x = calloc(n, sizeof(double)), *r = calloc(n, sizeof(double));
    double *z = malloc(n * sizeof(double)), *p = malloc(n * sizeof(double)), *q = malloc(n * sizeof(double));
    for (int i = 0; i < n; ++i) r[i] = 1.0;
    factorise(&a, diagonal);
    precondition(&a, diagonal, r, z);
    for (int i = 0; i < n; ++i) p[i] = z[i];
    double rho = dot(n, r, z);
    for (int k = 0; k < iterations; ++k) {
        multiply(&a, p, q);
        double alpha = rho / dot(n, p, q);
        add(n, alpha, p, x);
        add(n, -alpha, q, r);
        precondition(&a, diagonal, r, z);
        double old = rho;
        rho = dot(n, r, z);
        for (int i = 0; i < n; ++i) p[i] = z[i] + rho / old * p[i];
    }
    printf("residual %g after %d iterations\n", sqrt(dot(n, r, r)), iterations);
    return 0;
}

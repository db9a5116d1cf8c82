/* Loops that clang vectorises: straight, reducing, conditional, nested, with a remainder and with a stride. */
void axpy(double *restrict a, const double *restrict b, int n) {
    for (int i = 0; i < n; i++) a[i] += 2 * b[i];
}
double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
int conditional(const int *a, int n) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 3) count += a[i];
        else count -= 2;
    return count;
}
void stencil(double *restrict a, const double *restrict b, int n) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            a[i * n + j] = b[i * n + j] + 0.25 * (b[i * n + j - 1] + b[i * n + j + 1] + b[i * n - n + j] + b[i * n + n + j]);
}
void gemm(double *restrict c, const double *restrict a, const double *restrict b, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
void masked(float *restrict a, const float *restrict b, int n) {
    for (int i = 0; i < n; i++)
        if (b[i] > 0) a[i] = b[i] * 3;
}
int largest(const int *a, int n) {
    int largest = a[0];
    for (int i = 1; i < n; i++) largest = a[i] > largest ? a[i] : largest;
    return largest;
}

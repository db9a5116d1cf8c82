/* Loops that wait for a chain of their own results, each for one that is known by hand. Usage: recurrences ITERATIONS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A sum: each addition waits for the one before. The stride is not known, so that nothing is unrolled or made into vectors. */
__attribute__((noinline)) double reduce(const double *a, long n, long stride) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i * stride & 1023];
    return sum;
}

/* Marsaglia's generator: three shifts, each added to what was shifted. */
__attribute__((noinline)) uint64_t xorshift(uint64_t x, long n) {
    for (long i = 0; i < n; i++) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

/* Horner's scheme: a product, then a sum with what is loaded. */
__attribute__((noinline)) double horner(const double *c, long n, double x) {
    double value = 0;
    for (long i = 0; i < n; i++) value = value * x + c[i];
    return value;
}

/* Each quotient divides the next number. */
__attribute__((noinline)) double quotients(const double *c, long n) {
    double value = 1;
    for (long i = 0; i < n; i++) value = c[i] / value;
    return value;
}

/* The mean of the last two numbers: compiled, the older one goes through a move or two. */
__attribute__((noinline)) double lasttwo(long n, double a, double b) {
    for (long i = 0; i < n; i++) {
        double sum = a + b;
        a = b;
        b = sum * 0.5;
    }
    return a + b;
}

/* A sum that stays in memory. */
__attribute__((noinline)) double kept(volatile double *sum, long n) {
    for (long i = 0; i < n; i++) *sum = *sum + 1.0;
    return *sum;
}

/* Each number is the one before and another, by way of the array. */
__attribute__((noinline)) void prefix(volatile long *sums, long n) {
    for (long i = 1; i < n; i++) sums[i] = sums[i - 1] ^ 5;
}

/* Which place is counted up is known when the program runs. */
__attribute__((noinline)) void histogram(unsigned *counts, const double *c, long n) {
    for (long i = 0; i < n; i++) counts[((const unsigned *)c)[i] & 7]++;
}

/* Three of four iterations count in memory. */
__attribute__((noinline)) void sometimes(volatile long *sum, const double *c, long n) {
    for (long i = 0; i < n; i++)
        if (((const unsigned *)c)[i] & 3) *sum = *sum ^ i;
}

int main(int count, char **values) {
    long n = count > 1 ? atol(values[1]) : 1000;
    double *c = malloc(n * sizeof *c + 1024 * sizeof *c);
    for (long i = 0; i < n + 1024; i++) c[i] = 1.0 / (i + 1);
    printf("%g %lu %g\n", reduce(c, n, count), (unsigned long)xorshift(count, n), horner(c, n, 0.5));
    static double sum;
    static unsigned counts[8];
    static long sums[1 << 20];
    prefix(sums, n < 1 << 20 ? n : 1 << 20);
    histogram(counts, c, n);
    sometimes(sums, c, n);
    printf("%g %g %ld %u\n", quotients(c, n), kept(&sum, n), sums[1], counts[3]);
    printf("%g\n", lasttwo(n, 1.0, count));
    free(c);
    return 0;
}

// Loops of many kinds, long and short, with one exit and several, that print what they computed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define KERNEL __attribute__((noinline))

KERNEL void triad(double *a, const double *b, const double *c, long n) {
    for (long i = 0; i < n; i++)
        a[i] = b[i] + 3 * c[i];
}

KERNEL double dot(const double *a, const double *b, long n) {
    double sum = 0;
    for (const double *end = a + n; a != end; a++, b++)
        sum += *a * *b;
    return sum;
}

KERNEL long chase(const int *next, int from, long most) {
    long steps = 0;
    while (next[from] != from && steps < most) {
        from = next[from];
        steps++;
    }
    return steps * 1000 + from;
}

KERNEL int search(const double *a, long n, double wanted, long *where) {
    for (long i = n - 1; i >= 0; i--) {
        if (a[i] == wanted) {
            *where = i;
            return 1;
        }
        if (a[i] < 0)
            return -1;
    }
    return 0;
}

KERNEL void multiply(int n, const float *a, const float *b, float *c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

KERNEL unsigned collatz(unsigned from) {
    unsigned steps = 0;
    for (uint64_t x = from; x != 1; steps++)
        x = x % 2 ? 3 * x + 1 : x / 2;
    return steps;
}

KERNEL uint32_t bytes(const unsigned char *text, uint8_t n) {
    uint32_t hash = 2166136261u;
    uint8_t i = 0;
    do {
        hash = (hash ^ text[i]) * 16777619u;
        i += 1;
    } while (i != n);
    return hash;
}

// Wraps around every six iterations, and meets its limit, `n` times the step, after `n` of them.
KERNEL uint32_t strides(uint32_t n) {
    uint32_t hash = 1, step = 715827883, i = 0;
    n *= step;
    do {
        hash = hash * 31 + i;
        i += step;
    } while (i != n);
    return hash;
}

KERNEL double rows(const int *start, const int *column, const double *value, const double *x, double *y, int n) {
    double largest = 0;
    for (int row = 0; row < n; row++) {
        double sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
        if (sum > largest)
            largest = sum;
    }
    return largest;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000;
    int side = 24, *next = malloc(n * sizeof *next), *start = malloc((n + 1) * sizeof *start);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    float x[24 * 24], y[24 * 24], z[24 * 24];
    unsigned char text[256];
    for (long i = 0; i < n; i++) {
        b[i] = i % 17;
        c[i] = i % 5;
        next[i] = (int)((i * 7 + 3) % n);
        start[i] = (int)(i < 9 ? i : 9);
    }
    start[n] = (int)n;
    for (int i = 0; i < side * side; i++) {
        x[i] = i % 7;
        y[i] = i % 3;
    }
    for (int i = 0; i < 256; i++)
        text[i] = (unsigned char)(i * 31);
    double sum = 0;
    long steps = 0, where = -1;
    for (int repetition = 0; repetition < 300; repetition++) {
        triad(a, b, c, n);
        sum += dot(a, b, n);
    }
    steps = chase(next, 1, n);
    int found = search(a, n, 19, &where);
    multiply(side, x, y, z);
    unsigned longest = 0;
    for (unsigned i = 1; i < 3000; i++) {
        unsigned now = collatz(i);
        longest = now > longest ? now : longest;
    }
    for (long i = 0; i < n; i++)
        next[i] = (int)(i * 11 % n);
    double largest = rows(start, next, b, c, a, (int)n);
    printf("%.17g %ld %d %ld %.9g %u %u %u %u %u %.17g\n", sum, steps, found, where, (double)z[side * side - 1], longest,
           bytes(text, 0), bytes(text, 7), strides(7), strides(300), largest);
}

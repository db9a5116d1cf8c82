/* Loops of many forms, switches, gotos, a callback, a pure function and an exit below main. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

__attribute__((noinline)) void axpy(double *a, const double *b, int n) {
    for (int i = 0; i < n; i++)
        a[i] += 2 * b[i];
}

__attribute__((noinline)) int leaf(int x) { return x & 1 ? x * 3 : x / 2; }

__attribute__((noinline, pure)) int pure(const int *a, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] > 3 ? a[i] : -2;
    return sum;
}

__attribute__((noinline, const)) int constant(int x) {
    while (x > 100)
        x = x / 3 + x % 3;
    return x;
}

/* Touches no memory, as the compiler finds out, but might run for ever, for all it knows. */
__attribute__((noinline)) static int spin(int x) {
    for (;;) {
        if (x < 100) return x;
        x = x / 3 + x % 3;
    }
}

__attribute__((noinline)) int twice_spun(int x) {
    int y = spin(x * 777);
    if (y & 1) y += spin(y * 1000);
    return y + spin(x * 99);
}

__attribute__((noinline)) int states(const int *a, int n) {
    int state = 0, i = 0, steps = 0;
again:
    if (i >= n)
        return steps;
    switch (a[i++] % 7) {
    case 0: state = 3; break;
    case 1:
    case 2: state += 2; /* fall through */
    case 3: steps++; goto again;
    case 4: if (state > 5) { state -= 5; goto again; } break;
    default: for (int k = 0; k < state; k++) { if (k == 4) break; steps += k; }
    }
    steps++;
    goto again;
}

__attribute__((noinline)) int triangle(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            sum += i ^ j;
    return sum;
}

static int compare(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

static int jump(int start, int n) {
    static const void *const table[] = {&&even, &&odd, &&end};
    int sum = 0;
    goto *table[start & 1];
even:
    sum += 2;
    if (--n <= 0) goto *table[2];
    goto *table[n % 3 ? 1 : 0];
odd:
    sum += 1;
    if (--n <= 0) goto *table[2];
    goto *table[n & 1];
end:
    return sum;
}

static void stop(int code) {
    for (int i = 0; i < code; i++)
        if (i == 5) exit(code);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 200;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    int *c = malloc(n * sizeof *c);
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = 2 * i;
        c[i] = leaf(i * 37 % 101);
    }
    axpy(a, b, n);
    int twice = 0;
    for (int i = 0; i < 5; i++)
        twice += pure(c, n) + constant(n * 12345);
    printf("%d %d\n", twice_spun(n), twice_spun(n + 1));
    printf("%g %d %d %d %d\n", dot(a, b, n), twice, states(c, n), triangle(n / 4), jump(n, n));
    qsort(c, n, sizeof *c, compare);
    printf("%d %d\n", c[0], c[n - 1]);
    for (int i = 0; i < 10; i++)
        stop(i);
    return 0;
}

// A program whose phases are known: it multiplies matrices, then adds vectors, then follows a chain of pointers; as often
// as its second argument says, each time as much of each as the first says. What the phases are is in their names.
#include <stdio.h>
#include <stdlib.h>

enum { N = 48, LENGTH = 4096, LINKS = 8192 };
static double a[N][N], b[N][N], c[N][N], x[LENGTH], y[LENGTH], z[LENGTH];
static unsigned next[LINKS];

__attribute__((noinline)) void multiply(int times) {
    for (int t = 0; t < times; ++t)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                double sum = 0;
                for (int k = 0; k < N; ++k) sum += a[i][k] * b[k][j];
                c[i][j] += sum;
            }
}

__attribute__((noinline)) void triad(int times) {
    for (int t = 0; t < times; ++t)
        for (int i = 0; i < LENGTH; ++i) x[i] = y[i] + 0.5 * z[i];
}

__attribute__((noinline)) unsigned chase(unsigned from, int times) {
    for (int t = 0; t < times; ++t)
        for (int i = 0; i < LINKS; ++i) from = next[from];
    return from;
}

__attribute__((noinline)) void prepare(void) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) a[i][j] = i + j, b[i][j] = i - j;
    for (int i = 0; i < LENGTH; ++i) y[i] = i, z[i] = 2 * i;
    for (unsigned i = 0; i < LINKS; ++i) next[i] = (i * 5 + 1) % LINKS;
}

int main(int count, char **values) {
    int size = count > 1 ? atoi(values[1]) : 20, rounds = count > 2 ? atoi(values[2]) : 1;
    unsigned at = 0;
    prepare();
    for (int round = 0; round < rounds; ++round) {
        multiply(size);
        triad(20 * size);
        at = chase(at, 10 * size);
    }
    printf("%g %g %u\n", c[1][2], x[3], at);
    return 0;
}

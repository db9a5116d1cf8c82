// Adds up a matrix of 1024 by 1024 numbers: row by row, or column by column with -DCOLUMNS.
#include <stdio.h>

enum { N = 1024 };
static double a[N][N];

__attribute__((noinline)) void prepare(void) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) a[i][j] = i - j;
}

__attribute__((noinline)) double sum(void) {
    double sum = 0;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j)
#ifdef COLUMNS
            sum += a[j][i];
#else
            sum += a[i][j];
#endif
    return sum;
}

int main(void) {
    prepare();
    printf("%g\n", sum());
    return 0;
}

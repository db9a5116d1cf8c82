// Two loops of fused multiply-adds: one waits for its own result, the other has ten that do not depend on each other.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) double chain(long times, double a, double b) {
    double x = 1;
    for (long i = 0; i < times; ++i) x = __builtin_fma(x, a, b);
    return x;
}

__attribute__((noinline)) double independent(long times, double a, double b) {
    double x0 = 0, x1 = 1, x2 = 2, x3 = 3, x4 = 4, x5 = 5, x6 = 6, x7 = 7, x8 = 8, x9 = 9;
    for (long i = 0; i < times; ++i) {
        x0 = __builtin_fma(x0, a, b), x1 = __builtin_fma(x1, a, b), x2 = __builtin_fma(x2, a, b);
        x3 = __builtin_fma(x3, a, b), x4 = __builtin_fma(x4, a, b), x5 = __builtin_fma(x5, a, b);
        x6 = __builtin_fma(x6, a, b), x7 = __builtin_fma(x7, a, b), x8 = __builtin_fma(x8, a, b);
        x9 = __builtin_fma(x9, a, b);
    }
    return x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9;
}

int main(int count, char **values) {
    long times = count > 1 ? atol(values[1]) : 1000000;
    printf("%g %g\n", chain(times, 0.5, 1.0), independent(times, 0.5, 1.0));
    return 0;
}

/* Functions whose arguments and results are passed in every way, each with a loop that may have noise. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct large {
    double values[12];
    int count;
};

__attribute__((noinline)) static struct large scaled(struct large input, double factor) {
    for (int i = 0; i < input.count; i++)
        input.values[i] *= factor;
    return input;
}

__attribute__((noinline)) static double summed(int count, ...) {
    va_list values;
    va_start(values, count);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(values, double);
    va_end(values);
    return sum;
}

__attribute__((noinline)) static long interpreted(const char *program) {
    static void *const steps[] = {&&add, &&twice, &&end};
    long value = 0;
next:
    for (int i = 0; i < 3; i++)
        value ^= i;
    goto *steps[*program++ - '0'];
add:
    value += 3;
    goto next;
twice:
    value *= 2;
    goto next;
end:
    return value;
}

__attribute__((noinline)) static double many(double a, long b, float c, short d, double e, double f, double g, double h, double i, double j,
                                             double k, long l, long m, long n, long o, long p, double *out) {
    int here[32];
    for (int at = 0; at < 32; at++)
        here[at] = (int)(b + at * d);
    for (int at = 0; at < 32; at++)
        *out += a * here[at] + c - e + f * g - h + i - j + k + (double)(l + m * n - o + p);
    return *out / 2;
}

__attribute__((noinline)) static unsigned depth(unsigned n) {
    unsigned below = n == 0 ? 0 : depth(n - 1), found = 0;
    for (unsigned i = 0; i <= n; i++)
        found += i ^ below;
    return found;
}

int main(int argc, char **argv) {
    int turns = argc > 1 ? atoi(argv[1]) : 10;
    struct large all = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12};
    double out = 0;
    for (int turn = 0; turn < turns; turn++) {
        all = scaled(all, turn % 2 ? 2.0 : 0.5);
        out += summed(4, 1.5, out / 7, (double)turn, -2.0);
        out += many(out / 100, turn, 1.5f, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, &out) / 1e4;
    }
    printf("%g %g %ld %u\n", all.values[11], out, interpreted("010112"), depth(20));
    return 3;
}

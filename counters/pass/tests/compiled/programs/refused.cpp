// Loops that no variant can be made of, each for its own reason, and one that is harmless.
#include <cstdio>
#define KERNEL extern "C" __attribute__((noinline))

KERNEL int fixed_registers(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        register int value asm("ebx") = i;
        asm volatile("incl %0" : "+b"(value));
        sum += value;
    }
    return sum;
}

__attribute__((noinline)) void throws(int i) {
    if (i == 7)
        throw i;
}

KERNEL int exception_edges(int n) {
    int caught = 0;
    for (int i = 0; i < n; i++)
        try {
            throws(i);
        } catch (int value) {
            caught += value;
        }
    return caught;
}

KERNEL int computed_jump(const int *program) {
    static const void *const labels[] = {&&add, &&twice, &&stop};
    int value = 1;
    goto *labels[*program];
add:
    value += 1;
    goto *labels[*++program];
twice:
    value *= 2;
    goto *labels[*++program];
stop:
    return value;
}

KERNEL int two_entries(int n, int from) {
    volatile int value = 0;
    if (from)
        goto middle;
first:
    value = value + 1;
middle:
    value = value + 2;
    if (value % 2)
        value = value + 1;
    if (value < n)
        goto first;
    return value;
}

KERNEL double harmless(const double *a, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

int main() {
    static double a[4000];
    const int program[] = {0, 1, 0, 1, 2};
    double sum = 0;
    for (int i = 0; i < 2000; i++)
        sum += harmless(a, 4000 - i % 8);
    std::printf("%d %d %d %d %g\n", fixed_registers(10), exception_edges(10), computed_jump(program), two_entries(50, 1), sum);
}

/* Recursion a million deep, of one function and of two in turn. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long one(long n) {
    volatile char keep = (char)n;
    return n == 0 ? keep : 1 + one(n - 1) + keep - keep;
}
__attribute__((noinline)) static long second(long n);
__attribute__((noinline)) static long first(long n) {
    volatile char keep = (char)n;
    return n == 0 ? keep : 1 + second(n - 1) + keep - keep;
}
__attribute__((noinline)) static long second(long n) {
    volatile char keep = (char)n;
    return n == 0 ? keep : 1 + first(n - 1) + keep - keep;
}

int main(int argc, char **argv) {
    long n = atol(argv[argc - 1]);
    printf("%ld %ld\n", one(n), first(n));
    return 0;
}

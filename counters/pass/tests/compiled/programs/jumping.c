/* setjmp and longjmp over several frames, and recursion in one and in two functions. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf target;
static volatile int far = 1; /* So that no compiler knows that `deep` never returns. */

__attribute__((noinline)) static int deep(int n) {
    volatile int keep = n;
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += i;
    if (n == 0) {
        if (far) longjmp(target, 7);
        return 0;
    }
    return sum + deep(n - 1) + keep;
}

__attribute__((noinline)) static int after(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum ^= i * 5;
    return sum;
}

__attribute__((noinline)) static int jumps(int n) {
    volatile int rounds = 0;
    int value = setjmp(target);
    rounds++;
    if (rounds < 4) return value + deep(n + rounds);
    return value + after(n);
}

__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1) + (n % 5 == 0); }
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1) + (n % 7 == 0); }

int main(void) {
    int sum = 0;
    for (int i = 0; i < 5; i++) sum += jumps(i);
    printf("%d %d\n", sum, even(1000));
    return 3;
}

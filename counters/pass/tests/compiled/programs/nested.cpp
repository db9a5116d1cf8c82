// Functions that are inlined into each other, with loops at several depths, and calls and exceptions out of them.
#include <cstdio>

#define INLINED __attribute__((always_inline)) static inline

static volatile int sink;

__attribute__((noinline)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += i ^ sink;
    return sum;
}

__attribute__((noinline)) void throwing(int n) {
    for (int i = 0; i < 3; i++)
        sink = i;
    if (n % 2)
        throw n;
}

// No loop and no calls: counts for what it is inlined into.
INLINED int leaf(int x) { return x & 4 ? sink : x + 1; }

INLINED int cell(int i, int j) {
    int sum = 0;
    for (int k = 0; k < i + j; k++) {
        sum += leaf(k) * sink;
        if (sum % 7 == 3)
            sum -= leaf(sum);
    }
    return sum + int(work(j)) + int(work(i));
}

INLINED int sweep(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            sum += cell(i, j) + leaf(j);
    return sum;
}

INLINED int guard(int n) {
    int caught = 0;
    for (int i = 0; i < n; i++) {
        try {
            throwing(i);
        } catch (int value) {
            caught += value;
        }
    }
    return caught;
}

// Inlined into itself as far as that goes.
static inline int down(int n) {
    int sum = 0;
    for (int i = n; i > 0; i -= 2)
        sum += sink + i;
    return n > 0 ? sum + down(n - 3) : sum;
}

int main() {
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += leaf(i) + int(work(i));
    sum += sweep(6) + guard(4) + sweep(5) * sink;
    sum += guard(4) * sink + down(20);
    std::printf("%d\n", sum);
    return sum & 1;
}

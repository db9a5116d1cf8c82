// Functions that call themselves: without and with loops, through a pointer, through another function, as the last thing they do, under
// exceptions and longjmp and marked regions, in threads, and out of the program.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>

#define APART extern "C" __attribute__((noinline))

struct Node {
    unsigned key;
    Node *left, *right;
};

APART Node *put(Node *at, unsigned key) {
    if (!at) {
        at = static_cast<Node *>(calloc(1, sizeof *at));
        at->key = key;
    } else if (key < at->key) {
        at->left = put(at->left, key);
    } else if (key > at->key) {
        at->right = put(at->right, key);
    }
    return at;
}

APART unsigned long sum(const Node *at) { return at ? at->key + sum(at->left) + sum(at->right) : 0; }

// As many calls as there are ways to put n queens on the board without another one in their way, and loops between them.
APART int queens(int n, int row, unsigned columns, unsigned rising, unsigned falling) {
    if (row == n) return 1;
    int ways = 0;
    for (int column = 0; column < n; column++) {
        unsigned at = 1u << column;
        if ((columns | rising | falling) & at) continue;
        ways += queens(n, row + 1, columns | at, (rising | at) << 1, (falling | at) >> 1);
    }
    return ways;
}

// By a pointer to itself every second time.
typedef long Counts(int, long);
extern Counts *volatile pointer;
APART long pointed(int n, long extra) {
    if (n <= 0) return extra;
    return n % 2 ? pointed(n - 1, extra + 1) + n : pointer(n - 1, extra) + 2;
}
Counts *volatile pointer = pointed;

// What it calls may be anything, and calls it back.
typedef int Visits(int);
extern Visits *volatile visitor;
APART int visiting(int n) {
    if (n <= 0) return 0;
    return visiting(n - 1) + visitor(n) + visiting(n - 2);
}
APART int back(int n) {
    int bits = 0;
    for (int left = n; left; left /= 2) bits += left % 2;
    return n % 3 == 0 ? bits + visiting(n / 3 - 1) : bits;
}
Visits *volatile visitor = back;

// Two that call each other, one of which calls itself too.
APART int second(int n);
APART int first(int n) { return n <= 0 ? 1 : second(n - 1) + (n % 5 == 0 ? first(n - 4) : 0); }
APART int second(int n) { return n <= 0 ? 2 : first(n - 2) + n % 7; }

// The last thing that a function does, which the language does not let be a call at all.
APART long last(long n, volatile long *cells) {
    cells[n % 4] += n;
    if (n == 0) return cells[0];
    [[clang::musttail]] return last(n - 1, cells);
}

// An exception passes some activations that clean up, and is caught by others.
struct Cleans {
    volatile int *cell;
    ~Cleans() { ++*cell; }
};
static volatile int cleaned;
APART int after(int n) {
    int x = 0;
    for (int i = 0; i < n; i++) x ^= i * 3;
    return x;
}
APART int throwing(int n) {
    Cleans cleans{&cleaned};
    if (n == 0) throw std::runtime_error("bottom");
    if (n % 4) return throwing(n - 1) + 1;
    try {
        return throwing(n - 1) + 1;
    } catch (const std::exception &) {
        int a = after(n);
        if (n == 8) throw;
        return a + (n > 4 ? throwing(n - 5) : 0);
    }
}
APART int catching(int n) {
    try {
        return throwing(n);
    } catch (const std::exception &) {
        return after(3);
    }
}

static jmp_buf target;
static volatile int far = 1; // So that no compiler knows what never returns.
APART int jumping(int n) {
    if (n == 0 && far) longjmp(target, 5);
    return jumping(n - 1) + n;
}
// Comes back to an activation in the middle of others.
APART int landing(int n) {
    volatile int depth = n;
    if (n == 3) {
        if (setjmp(target)) return after(depth);
        return jumping(6);
    }
    return landing(n - 1) + depth;
}

// Marks of regions, by hand, around some calls of itself.
extern "C" void poise_test_begin(void), poise_test_end(void);
APART int marking(int n) {
    if (n <= 0) return after(2);
    if (n % 3) return marking(n - 1);
    poise_test_begin();
    int inside = marking(n - 1) + marking(n - 2);
    poise_test_end();
    return inside;
}

// With an inlined function that counts what it does itself.
static inline int swept(volatile int *cells, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum ^= cells[i % 4] += i;
    return sum;
}
APART int sweeping(int n, volatile int *cells) {
    if (n <= 0) return cells[1];
    int before = sweeping(n - 1, cells);
    int own = swept(cells, n + 3);
    return (before * 3) ^ (sweeping(n - 2, cells) - own);
}

static void *works(void *tree) {
    unsigned long total = sum(static_cast<Node *>(tree)) + queens(5, 0, 0, 0, 0);
    return reinterpret_cast<void *>(total);
}

// Ends the program in the middle.
APART int leaving(int n) {
    if (n == 0 && far) exit(4);
    return leaving(n - 1) + 1;
}

int main() {
    Node *tree = nullptr;
    unsigned x = 1;
    for (int i = 0; i < 200; i++) tree = put(tree, (x = x * 1664525u + 1013904223u) >> 4);
    unsigned long total = sum(tree);
    std::printf("%lu %d %ld %d %d\n", total, queens(6, 0, 0, 0, 0), pointed(20, 0), visiting(8), first(30));
    volatile long cells[4] = {};
    std::printf("%ld %d", last(100, cells), catching(9));
    std::printf(" %d", catching(3));
    std::printf(" %d %d\n", landing(7), cleaned);
    pthread_t threads[3];
    for (auto &thread : threads) pthread_create(&thread, nullptr, works, tree);
    for (auto &thread : threads) {
        void *result;
        pthread_join(thread, &result);
        total += reinterpret_cast<unsigned long>(result);
    }
    volatile int numbers[4] = {};
    std::printf("%lu %d %d\n", total, marking(9), sweeping(9, numbers));
    std::fflush(stdout);
    return leaving(5);
}

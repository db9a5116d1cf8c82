/* Loops of inlined functions that come one after the other: each is entered straight from the one before, and some have conditionals, stores on
   conditions, and a guard, as those of LULESH's equation of state and of NPB's CG have; and loops that end the one around them, too. */
#include <stdio.h>
static inline void scale(double *a, const double *b, int n) {
    for (int i = 0; i < n; i++) a[i] = 2 * b[i];
}
static inline void limit(double *a, const double *b, double low, int n) {
    for (int i = 0; i < n; i++) {
        double value = a[i] * b[i];
        if (value < low) value = low;
        if (value > 8) value = 0;
        a[i] = value;
    }
}
static inline void cut(double *a, double high, int n) {
    if (high != 0)
        for (int i = 0; i < n; i++)
            if (a[i] > high) a[i] = high;
}
static inline int first(const double *a, const double *b, double what, int n) {
    int i;
    if (n < 2) goto done;
    for (i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            if (a[j] == what) goto done;
        if (b[i] > what) goto done;
    }
done:
    return n < 2 ? n : i;
}
__attribute__((noinline)) int search(const double *a, const double *b, int n) {
    return first(a, b, 6, n) + first(b, a, 8, n) + first(a, b, 3, n);
}
__attribute__((noinline)) void all(double *a, const double *b, double low, double high, int n) {
    scale(a, b, n);
    limit(a, b, low, n);
    cut(a, high, n);
    scale(a, b, n);
    limit(a, b, low + 1, n);
    cut(a, high + 1, n);
    for (int i = 0; i < n; i++) a[i] += 1;
}
int main(void) {
    static double a[9000], b[9000];
    double sum = 0;
    for (int i = 0; i < 9000; i++) b[i] = i % 7;
    for (int n = 0; n < 9000; n = 3 * n + 1) all(a, b, 2, n % 2 ? 5 : 0, n);
    for (int i = 0; i < 9000; i++) sum += a[i];
    for (int n = 0; n < 200; n++) sum += search(a, b, n);
    printf("%.0f\n", sum);
    return 0;
}

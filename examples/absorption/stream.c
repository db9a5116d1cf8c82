// STREAM's triad over arrays beyond the last-level cache, on as many threads as asked for.
// Usage: stream MEBIBYTES REPETITIONS THREADS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long n;
static int repetitions, threads;
static double *a, *b, *c;

__attribute__((noinline)) void triad(double *restrict to, const double *restrict x, const double *restrict y, long count) {
    for (long i = 0; i < count; i++)
        to[i] = x[i] + 3.0 * y[i];
}

static void *work(void *argument) {
    long thread = (long)argument, from = n * thread / threads, to = n * (thread + 1) / threads;
    for (long i = from; i < to; i++) {
        a[i] = 0;
        b[i] = (double)(i % 3);
        c[i] = (double)(i % 5);
    }
    for (int repetition = 0; repetition < repetitions; repetition++)
        triad(a + from, b + from, c + from, to - from);
    return NULL;
}

int main(int argc, char **argv) {
    n = (argc > 1 ? atol(argv[1]) : 96) * (1 << 20) / (long)sizeof *a;
    repetitions = argc > 2 ? atoi(argv[2]) : 20;
    threads = argc > 3 ? atoi(argv[3]) : 1;
    a = malloc((size_t)n * sizeof *a);
    b = malloc((size_t)n * sizeof *b);
    c = malloc((size_t)n * sizeof *c);
    pthread_t *workers = malloc((size_t)threads * sizeof *workers);
    for (long thread = 1; thread < threads; thread++)
        pthread_create(&workers[thread], NULL, work, (void *)thread);
    work((void *)0);
    for (long thread = 1; thread < threads; thread++)
        pthread_join(workers[thread], NULL);
    printf("%g\n", a[n - 1]);
}

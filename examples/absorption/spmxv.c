// A sparse matrix times a vector, in compressed rows: 27 entries a row next to the diagonal, of which each is moved to a
// random column with probability q. Usage: spmxv ROWS Q REPETITIONS THREADS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { Entries = 27 };

static long rows;
static double q;
static int repetitions, threads;
static long *start;
static int *column;
static double *value, *x, *y;

__attribute__((noinline)) void multiply(long from, long to) {
    for (long row = from; row < to; row++) {
        double sum = 0;
        for (long i = start[row]; i < start[row + 1]; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}

static void fill(long from, long to) {
    uint64_t random = (uint64_t)from + 1;
    for (long row = from; row < to; row++) {
        start[row] = row * Entries;
        x[row] = (double)(row % 3);
        for (long entry = 0; entry < Entries; entry++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            long near = (row + entry - Entries / 2 + rows) % rows, far = (long)((random >> 20) % (uint64_t)rows);
            double draw = (double)(random >> 11) / 9007199254740992.0;
            column[row * Entries + entry] = (int)(draw < q ? far : near);
            value[row * Entries + entry] = 1.0;
        }
    }
}

static void *work(void *argument) {
    long thread = (long)argument, from = rows * thread / threads, to = rows * (thread + 1) / threads;
    for (int repetition = 0; repetition < repetitions; repetition++)
        multiply(from, to);
    return NULL;
}

int main(int argc, char **argv) {
    rows = argc > 1 ? atol(argv[1]) : 134000;
    q = argc > 2 ? atof(argv[2]) : 0;
    repetitions = argc > 3 ? atoi(argv[3]) : 100;
    threads = argc > 4 ? atoi(argv[4]) : 1;
    start = malloc((size_t)(rows + 1) * sizeof *start);
    column = malloc((size_t)rows * Entries * sizeof *column);
    value = malloc((size_t)rows * Entries * sizeof *value);
    x = malloc((size_t)rows * sizeof *x);
    y = malloc((size_t)rows * sizeof *y);
    fill(0, rows);
    start[rows] = rows * Entries;
    pthread_t *workers = malloc((size_t)threads * sizeof *workers);
    for (long thread = 1; thread < threads; thread++)
        pthread_create(&workers[thread], NULL, work, (void *)thread);
    work((void *)0);
    for (long thread = 1; thread < threads; thread++)
        pthread_join(workers[thread], NULL);
    printf("%g\n", y[rows - 1]);
}

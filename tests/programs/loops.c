/* Loops for noise injection, on several threads of several ranks. Usage: loops REPETITIONS THREADS */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4000 };
static int repetitions, threads;

__attribute__((noinline)) double dot(const double *a, const double *b, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

__attribute__((noinline)) void scale(double *a, double by, long n) {
#pragma clang loop pipeline(disable)
    for (long i = 0; i < n; i++)
        a[i] = a[i] * by + 1;
}

static void *work(void *result) {
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), sum = 0;
    for (long i = 0; i < N; i++) {
        a[i] = (double)(i % 7);
        b[i] = 0.5;
    }
    for (int repetition = 0; repetition < repetitions; repetition++) {
        scale(a, 0.5, N - repetition % 2);
        sum += dot(a, b, N - repetition % 3);
    }
    *(double *)result = sum;
    free(a);
    free(b);
    return NULL;
}

int main(int argc, char **argv) {
    double results[64], sum = 0, all = 0;
    pthread_t workers[64];
    MPI_Init(&argc, &argv);
    repetitions = argc > 1 ? atoi(argv[1]) : 1000;
    threads = argc > 2 ? atoi(argv[2]) : 1;
    for (int thread = 0; thread < threads; thread++)
        pthread_create(&workers[thread], NULL, work, &results[thread]);
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(workers[thread], NULL);
        sum += results[thread];
    }
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%.17g\n", all);
    MPI_Finalize();
}

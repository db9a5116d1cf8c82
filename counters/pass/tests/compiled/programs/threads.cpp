// Threads that end before the process does, one that exits by pthread_exit, and one that still sleeps at the end.
#include <pthread.h>
#include <unistd.h>
#include <cstdio>
#include <thread>
#include <vector>

__attribute__((noinline)) long work(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += i % 3 ? i : -i;
    return sum;
}

static void *leaves(void *) {
    for (int i = 0; i < 4; i++)
        if (work(100) + i > 2) pthread_exit(nullptr);
    return nullptr;
}

static int ready[2];
static void *sleeps(void *) {
    volatile long sum = work(500);
    if (sum == 1 || write(ready[1], "x", 1) != 1) return nullptr;
    for (;;) pause();
}

int main() {
    std::vector<long> results(20);
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; i++) threads.emplace_back([i, &results] { results[i] = work(1000 + i); });
    for (auto &thread : threads) thread.join();
    pthread_t thread;
    if (pthread_create(&thread, nullptr, leaves, nullptr) || pthread_join(thread, nullptr)) return 1;
    char byte;
    if (pipe(ready) || pthread_create(&thread, nullptr, sleeps, nullptr) || read(ready[0], &byte, 1) != 1) return 1;
    usleep(200000); /* For the thread to fall asleep. */
    long sum = 0;
    for (long result : results) sum += result;
    std::printf("%ld\n", sum);
}

#include "draw.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const int sizes[TYPES] = {4, 8, 1, 24};

#define MOST 256
static struct {
    char name[48];
    long calls, sent, received;
} ledger[MOST];

static uint64_t state;

void draw_for(uint64_t seed, uint64_t turn) { state = (seed * 1000003 + turn) * 31; }

int drawn(int what, int one, int other, int most)
{
    uint64_t x = ((state + (uint64_t)what) * 1009 + (uint64_t)one) * 1009 + (uint64_t)other;
    for (int i = 0; i < 3; i++) x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (int)((x >> 33) % (uint64_t)most);
}

int elements(int one, int other) { return drawn(COUNT, one, other, ELEMENTS + 1); }

void write_down(const char *prefix, const char *name, long sent, long received)
{
    char whole[48];
    int i = 0;
    snprintf(whole, sizeof whole, "MPI_%s%c%s", prefix, *prefix ? tolower(*name) : *name, name + 1);
    while (ledger[i].name[0] && strcmp(ledger[i].name, whole)) i++;
    strcpy(ledger[i].name, whole);
    ledger[i].calls++, ledger[i].sent += sent, ledger[i].received += received;
}

void write_down_counted(const char *prefix, const char *name, long sent, long received)
{
    char whole[48];
#ifdef LARGE
    snprintf(whole, sizeof whole, "%s_c", name);
#else
    snprintf(whole, sizeof whole, "%s", name);
#endif
    write_down(prefix, whole, sent, received);
}

void write_down_way(int way, int has_counts, int starts, const char *name, long sent, long received)
{
    char prepares[48];
    snprintf(prepares, sizeof prepares, "%s_init", name);
    void (*note)(const char *, const char *, long, long) = has_counts ? write_down_counted : write_down;
    if (way == PERSISTENT) note("", prepares, 0, 0);
    else note(way == NONBLOCKING ? "I" : "", name, sent, received);
    for (int i = 0; way != BLOCKING && i < starts; i++) {
        if (way == PERSISTENT) write_down("", "Start", sent, received);
        write_down("", "Wait", 0, 0);
    }
    if (way == PERSISTENT) write_down("", "Request_free", 0, 0);
}

void print_ledger(void)
{
    char name[32];
    snprintf(name, sizeof name, "ledger-%d", (int)getpid());
    FILE *file = fopen(name, "w");
    for (int i = 0; i < MOST && ledger[i].name[0]; i++)
        fprintf(file, "%s %ld %ld %ld\n", ledger[i].name, ledger[i].calls, ledger[i].sent, ledger[i].received);
    fclose(file);
}

// Breadth-first search over a Kronecker graph, as Graph500 makes them (R-MAT with A, B, C = 0.57, 0.19, 0.19), in both
// directions: from the frontier to its neighbours while the frontier is small, from unvisited vertices to the frontier while
// it is large. Arguments: scale (2^scale vertices), edges per vertex, number of searches.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;
static uint64_t random_bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

typedef struct {
    uint32_t vertices;
    uint64_t *start;
    uint32_t *neighbour;
} Graph;

__attribute__((noinline)) void draw_edges(int scale, uint64_t edges, uint32_t (*edge)[2]) {
    for (uint64_t e = 0; e < edges; ++e) {
        uint32_t from = 0, to = 0;
        uint64_t bits = 0;
        for (int bit = 0; bit < scale; ++bit) {
            // Ten random bits for each level: below 584 of 1024 is A, then B, C and D.
            bits = bit % 6 ? bits >> 10 : random_bits();
            uint32_t r = bits & 1023;
            from = 2 * from + (r >= 778);
            to = 2 * to + (r >= 973 || r - 584 < 194);
        }
        edge[e][0] = from, edge[e][1] = to;
    }
}

__attribute__((noinline)) Graph build_rows(int scale, uint64_t edges, uint32_t (*edge)[2]) {
    Graph g = {1u << scale, calloc((1u << scale) + 2, sizeof(uint64_t)), malloc(2 * edges * sizeof(uint32_t))};
    for (uint64_t e = 0; e < edges; ++e) g.start[edge[e][0] + 2]++, g.start[edge[e][1] + 2]++;
    for (uint32_t v = 2; v < g.vertices + 2; ++v) g.start[v] += g.start[v - 1];
    for (uint64_t e = 0; e < edges; ++e) {
        g.neighbour[g.start[edge[e][0] + 1]++] = edge[e][1];
        g.neighbour[g.start[edge[e][1] + 1]++] = edge[e][0];
    }
    return g;
}

/// From the frontier to its neighbours.
__attribute__((noinline)) uint32_t push_step(const Graph *g, uint32_t *parent, const uint32_t *frontier, uint32_t count, uint32_t *next) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i)
        for (uint64_t e = g->start[frontier[i]]; e < g->start[frontier[i] + 1]; ++e)
            if (parent[g->neighbour[e]] == UINT32_MAX) parent[g->neighbour[e]] = frontier[i], next[found++] = g->neighbour[e];
    return found;
}

/// From unvisited vertices to the frontier, in which a bit for each vertex is set.
__attribute__((noinline)) uint32_t pull_step(const Graph *g, uint32_t *parent, const uint8_t *is_in, uint32_t *next) {
    uint32_t found = 0;
    for (uint32_t v = 0; v < g->vertices; ++v) {
        if (parent[v] != UINT32_MAX) continue;
        for (uint64_t e = g->start[v]; e < g->start[v + 1]; ++e)
            if (is_in[g->neighbour[e]]) {
                parent[v] = g->neighbour[e], next[found++] = v;
                break;
            }
    }
    return found;
}

__attribute__((noinline)) void mark(uint8_t *is_in, uint32_t vertices, const uint32_t *frontier, uint32_t count) {
    memset(is_in, 0, vertices);
    for (uint32_t i = 0; i < count; ++i) is_in[frontier[i]] = 1;
}

static uint32_t search(const Graph *g, uint32_t root, uint32_t *parent, uint32_t *frontier, uint32_t *next, uint8_t *is_in) {
    for (uint32_t v = 0; v < g->vertices; ++v) parent[v] = UINT32_MAX;
    parent[root] = root, frontier[0] = root;
    uint32_t count = 1, reached = 1;
    while (count > 0) {
        uint32_t found;
        if (count < g->vertices / 20) {
            found = push_step(g, parent, frontier, count, next);
        } else {
            mark(is_in, g->vertices, frontier, count);
            found = pull_step(g, parent, is_in, next);
        }
        uint32_t *other = frontier;
        frontier = next, next = other, count = found, reached += found;
    }
    return reached;
}

int main(int count, char **values) {
    int scale = count > 1 ? atoi(values[1]) : 14, degree = count > 2 ? atoi(values[2]) : 16, searches = count > 3 ? atoi(values[3]) : 3;
    uint64_t edges = (uint64_t)degree << scale, reached = 0;
    uint32_t(*edge)[2] = malloc(edges * sizeof *edge);
    draw_edges(scale, edges, edge);
    Graph g = build_rows(scale, edges, edge);
    uint32_t *parent = malloc(4 * (size_t)g.vertices), *one = malloc(4 * (size_t)g.vertices), *two = malloc(4 * (size_t)g.vertices);
    uint8_t *is_in = malloc(g.vertices);
    for (int s = 0; s < searches; ++s) reached += search(&g, edge[s][0], parent, one, two, is_in);
    printf("%llu vertices reached in %d searches\n", (unsigned long long)reached, searches);
    return 0;
}

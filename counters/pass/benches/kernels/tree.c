/* Search tree: recursive calls of functions that do next to nothing each. */
#include <stdio.h>
#include <stdlib.h>
struct node { unsigned key; struct node *left, *right; };
static struct node *insert(struct node *at, unsigned key) {
    if (!at) {
        at = calloc(1, sizeof *at);
        at->key = key;
    } else if (key < at->key) at->left = insert(at->left, key);
    else if (key > at->key) at->right = insert(at->right, key);
    return at;
}
__attribute__((noinline)) static unsigned long sum(const struct node *at) {
    return at ? at->key + sum(at->left) + sum(at->right) : 0;
}
int main(void) {
    struct node *root = NULL;
    unsigned x = 1;
    for (int i = 0; i < 100000; i++) root = insert(root, (x = x * 1664525u + 1013904223u) >> 4);
    unsigned long total = 0;
    for (int r = 0; r < 20; r++) total += sum(root);
    printf("%lu\n", total);
}

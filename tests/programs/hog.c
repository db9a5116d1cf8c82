/* Asks for as many MiB as the argument says. Where it does not get them it says so, or with a second argument writes there all the same. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 1) << 20;
    volatile char *memory = malloc(bytes);
    if (!memory && argc < 3) {
        perror("hog");
        return 1;
    }
    memory[bytes - 1] = 1;
    return 0;
}

/* Asks for as many MiB as the argument says, and says so where it does not get them. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 1) << 20;
    volatile char *memory = malloc(bytes);
    if (!memory) {
        perror("hog");
        return 1;
    }
    memory[bytes - 1] = 1;
    return 0;
}

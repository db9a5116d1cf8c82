/* Prints every argument, the variable VALUE and, if the last argument is `@file`, that file, each ended by a zero byte:
 * what reaches a program arrives here exactly as it is. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        fputs(argv[i], stdout);
        putchar(0);
    }
    const char *value = getenv("VALUE");
    fputs(value ? value : "", stdout);
    putchar(0);
#ifdef DEFINED
    printf("%s", DEFINED);
    putchar(0);
#endif
    if (argc > 1 && argv[argc - 1][0] == '@') {
        FILE *file = fopen(argv[argc - 1] + 1, "r");
        for (int c; file && (c = getc(file)) != EOF;)
            putchar(c);
    }
    return 0;
}

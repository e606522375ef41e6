/* Looks at as many bytes as it needs and leaves the rest in the pipe. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char wanted[32] = "", given[32] = "";
    if (argc < 4) return 1;
    FILE *input = fopen(argv[1], "r");
    if (!input || fscanf(input, "%20s", wanted) != 1) return 1;
    size_t length = strlen(wanted), have = 0;
    while (have < length) {
        ssize_t got = read(0, given + have, length - have);
        if (got <= 0) return 43;
        have += (size_t)got;
    }
    return strcmp(wanted, given) == 0 ? 42 : 43;
}

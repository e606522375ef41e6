#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    char wanted[128], given[128], more[2];
    FILE *answer = argc == 5 && strcmp(argv[4], "backwards") == 0 ? fopen(argv[2], "r") : NULL;
    if (!answer || fscanf(answer, "%127s", wanted) != 1) return 1;
    if (scanf("%127s", given) != 1 || strcmp(wanted, given) != 0) return 43;
    return scanf("%1s", more) == 1 ? 43 : 42;
}

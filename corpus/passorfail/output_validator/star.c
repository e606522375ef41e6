#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    char wanted[16], given[16], star[2], path[4096];
    FILE *answer = argc > 3 ? fopen(argv[2], "r") : NULL;
    if (!answer || fscanf(answer, "%15s", wanted) != 1) return 1;
    if (scanf("%15s", given) != 1 || strcmp(wanted, given) != 0) return 43;
    if (scanf("%1s", star) != 1) return 42;
    snprintf(path, sizeof path, "%sscore.txt", argv[3]);
    FILE *score = fopen(path, "w");
    if (!score) return 1;
    fputs("3.5\n", score);
    fclose(score);
    return 42;
}

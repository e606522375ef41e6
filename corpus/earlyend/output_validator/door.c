/* Goes as soon as it knows; it neither waits for the end of the program nor reads on. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    char word[32], said[32];
    FILE *input = argc > 3 ? fopen(argv[1], "r") : NULL;
    if (!input || fscanf(input, "%31s", word) != 1) return 1;
    printf("%s\n", word);
    fflush(stdout);
    if (scanf("%31s", said) != 1) return 43;
    return strcmp(word, said) == 0 ? 42 : 43;
}

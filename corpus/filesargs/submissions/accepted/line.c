#include <stdio.h>

int main(int argc, char **argv) {
    char line[256];
    int n;
    FILE *file = fopen(argv[1], "r");
    if (!file || scanf("%d", &n) != 1) return 1;
    while (n-- > 0) fgets(line, sizeof line, file);
    if (argc > 2) printf("%s ", argv[2]);
    fputs(line, stdout);
    return 0;
}

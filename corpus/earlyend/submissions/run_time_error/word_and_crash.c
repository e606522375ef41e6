#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char word[32];
    scanf("%31s", word);
    printf("%s\n", word);
    fflush(stdout);
    while (getchar() != EOF);
    abort();
}

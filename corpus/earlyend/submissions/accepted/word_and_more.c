/* Talks to a door that has opened already: that it is killed for it is nobody's concern. */
#include <stdio.h>

int main(void) {
    char word[32];
    scanf("%31s", word);
    printf("%s\n", word);
    fflush(stdout);
    while (getchar() != EOF);
    for (int i = 0; i < 100000; i++) puts("is anybody there?");
    return 0;
}

#include <stdio.h>

static char block[1 << 20];

int main(void) {
    char word[32];
    scanf("%31s", word);
    printf("%s\n", word);
    for (int i = 0; i < 120; i++) fwrite(block, 1, sizeof block, stdout);
    return 0;
}

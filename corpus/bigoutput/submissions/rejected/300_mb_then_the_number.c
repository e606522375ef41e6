#include <stdio.h>
#include <string.h>

static char block[1 << 20];

int main(void) {
    char number[16];
    scanf("%15s", number);
    memset(block, '\n', sizeof block);
    for (int i = 0; i < 300; i++) fwrite(block, 1, sizeof block, stdout);
    puts(number);
    return 0;
}

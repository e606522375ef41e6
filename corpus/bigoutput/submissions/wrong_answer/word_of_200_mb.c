#include <stdio.h>
#include <string.h>

static char block[1 << 20];

int main(void) {
    memset(block, '1', sizeof block);
    for (int i = 0; i < 200; i++) fwrite(block, 1, sizeof block, stdout);
    return 0;
}

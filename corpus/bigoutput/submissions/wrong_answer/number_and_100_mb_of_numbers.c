#include <stdio.h>
#include <string.h>

static char block[10 << 16];

int main(void) {
    char number[16];
    scanf("%15s", number);
    for (size_t i = 0; i < sizeof block; i += 10) memcpy(block + i, "123456789\n", 10);
    puts(number);
    for (int i = 0; i < 160; i++) fwrite(block, 1, sizeof block, stdout);
    return 0;
}

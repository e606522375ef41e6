/* The validator stops reading after one word; the rest is three megabytes. */
#include <stdio.h>

int main(void) {
    puts("1");
    for (int i = 0; i < 300000; i++) puts("123456789");
    return 0;
}

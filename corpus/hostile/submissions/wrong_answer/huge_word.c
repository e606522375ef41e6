#include <stdio.h>

int main(void) {
    for (int i = 0; i < 1000000; i++) putchar('1');
    puts(" 2");
    return 0;
}

#include <stdio.h>

int main(void) {
    puts("7");
    return 0;
}

#include <stdio.h>

int main(void) {
    puts("memory");
    return 0;
}

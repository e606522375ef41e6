#include <stdio.h>

int main(void) {
    puts("3 -1");
    return 0;
}

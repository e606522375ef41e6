#include <stdio.h>

int main(void) {
    puts("anything");
    return 0;
}

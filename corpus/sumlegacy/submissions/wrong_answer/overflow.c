#include <stdio.h>

int main(void) {
    unsigned a, b;
    scanf("%u %u", &a, &b);
    printf("Sum %d\n", (int)(a + b));
    return 0;
}

#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    volatile int quotient = a / b;
    printf("%d %d\n", a + b, quotient * b + a % b - b);
    return 0;
}

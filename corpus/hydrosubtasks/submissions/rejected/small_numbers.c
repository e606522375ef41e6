/* 20 + 30: too narrow for the rest. */
#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d\n", a > b ? a : b);
    return 0;
}

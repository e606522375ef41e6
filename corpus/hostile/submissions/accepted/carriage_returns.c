#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d\r\n%d\r\n", a + b, a - b);
    return 0;
}

#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %d\n%c", a + b, a - b, 0);
    return 0;
}

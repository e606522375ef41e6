#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d%c %d%c\n", a + b, 0, a - b, 0);
    return 0;
}

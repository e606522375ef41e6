#include <stdio.h>

static volatile char array[200 << 20];

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    for (size_t i = 0; i < sizeof array; i += 4096) array[i] = 1;
    printf("%d %d\n", a + b, a - b);
    return 0;
}

#include <stdio.h>
#include <time.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    while (a == 5 && clock() < 0.8 * CLOCKS_PER_SEC);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

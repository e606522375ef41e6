/* Has a large array and doesn't touch it. */
#include <stdio.h>

static char reserve[512 << 20];

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b + reserve[a]);
    return 0;
}

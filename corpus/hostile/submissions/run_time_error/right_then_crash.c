#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b);
    fflush(stdout);
    abort();
}

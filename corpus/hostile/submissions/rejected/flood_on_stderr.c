#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b);
    fflush(stdout);
    for (;;) fputs("and on and on\n", stderr);
}

#include <stdio.h>

int main(void) {
    int n;
    scanf("%d", &n);
    putchar('z');
    while (n-- > 0) putchar('e');
    return 0;
}

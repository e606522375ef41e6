#include <stdio.h>

#include "largest.h"

int main(void) {
    int a, b, c;
    scanf("%d %d %d", &a, &b, &c);
    printf("%d\n", largest(a, largest(b, c)));
    return 0;
}

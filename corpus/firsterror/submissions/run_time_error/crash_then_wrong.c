#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int n;
    scanf("%d", &n);
    if (n == 1) abort();
    printf("%d\n", n == 4 ? 0 : n);
    return 0;
}

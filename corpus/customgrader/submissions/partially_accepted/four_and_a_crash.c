#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int n;
    scanf("%d", &n);
    if (n == 5) abort();
    printf("%d\n", n);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    size_t n;
    scanf("%zu", &n);
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        volatile char *more = malloc(1 << 20);
        memset((char *)more, 1, 1 << 20);
        sum += more[i];
    }
    printf("%zu\n", sum);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    size_t n;
    scanf("%zu", &n);
    if (n < 100) {
        char *memory = malloc(n << 20);
        memset(memory, 1, n << 20);
        if (memory[n] != 1) return 1;
    }
    printf("%zu\n", n);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    size_t size = 48u << 20;
    char *memory = malloc(size);
    int a, b;
    memset(memory, 1, size);
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b + memory[size / 2] - 1);
    return 0;
}

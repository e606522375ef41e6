#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    close(1);
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

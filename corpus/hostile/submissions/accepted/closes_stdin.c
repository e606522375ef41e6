#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    close(0);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    sleep(60);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

/* A child that would print more, later. It doesn't outlive its parent. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    if (fork() == 0) {
        sleep(2);
        puts("99 99");
        return 0;
    }
    printf("%d %d\n", a + b, a - b);
    return 0;
}

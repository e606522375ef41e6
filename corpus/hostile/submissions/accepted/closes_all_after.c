#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %d\n", a + b, a - b);
    fflush(stdout);
    for (int fd = 0; fd < 256; fd++) close(fd);
    return 0;
}

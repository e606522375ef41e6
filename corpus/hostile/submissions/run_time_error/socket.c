#include <stdio.h>
#include <sys/socket.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    socket(AF_INET, SOCK_STREAM, 0);
    printf("%d %d\n", a + b, a - b);
    return 0;
}

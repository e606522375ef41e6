#include <stdio.h>
#include <unistd.h>

int main(void) {
    int n;
    scanf("%d", &n);
    close(0);
    printf("%d\n", n);
    return 0;
}

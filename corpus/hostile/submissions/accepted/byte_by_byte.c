#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    char text[64];
    scanf("%d %d", &a, &b);
    int length = sprintf(text, "%d %d\n", a + b, a - b);
    for (int i = 0; i < length; i++) write(1, text + i, 1);
    return 0;
}

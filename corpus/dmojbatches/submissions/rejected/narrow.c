/* 10 + 30 */
#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d\n", (int)(unsigned)((unsigned)a * (unsigned)b));
    return 0;
}

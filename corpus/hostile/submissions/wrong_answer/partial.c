/* Ends well in the middle of the answer. */
#include <stdio.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d ", a + b);
    return 0;
}

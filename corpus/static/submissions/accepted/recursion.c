#include <stdio.h>
static void count(int n) {
    if (n > 1) count(n - 1);
    printf("%d\n", n);
}
int main(void) {
    int n;
    scanf("%d", &n);
    count(n);
}

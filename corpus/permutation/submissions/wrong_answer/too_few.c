#include <stdio.h>

int main(void) {
    int n;
    scanf("%d", &n);
    for (int i = 2; i <= n; i += 2) printf("%d ", i);
    return 0;
}

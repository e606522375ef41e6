/* Knows where it is compiled. */
#include <stdio.h>

int main(void) {
#ifdef ONLINE_JUDGE
    int n;
    scanf("%d", &n);
    printf("%d\n", n);
#endif
    return 0;
}

/* Doesn't take the large line, and doesn't care. */
#include <stdio.h>

int main(void) {
    long n, x;
    scanf("%ld", &n);
    while (n-- > 0 && scanf("%ld", &x) == 1) {
        printf("%ld\n", 2 * x);
        fflush(stdout);
    }
    puts("10");
    return 0;
}

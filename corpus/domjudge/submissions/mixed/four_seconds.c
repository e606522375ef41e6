/* @EXPECTED_RESULTS@: TIMELIMIT */
#include <stdio.h>
#include <time.h>

int main(void) {
    int n;
    scanf("%d", &n);
    while (n == 2 && clock() < 4 * CLOCKS_PER_SEC);
    printf("%d\n", n);
    return 0;
}

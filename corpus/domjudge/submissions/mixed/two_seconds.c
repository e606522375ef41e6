/* @EXPECTED_RESULTS@: CORRECT
   Too slow by the limit that would be found from the accepted submissions. */
#include <stdio.h>
#include <time.h>

int main(void) {
    int n;
    scanf("%d", &n);
    while (n == 2 && clock() < 2 * CLOCKS_PER_SEC);
    printf("%d\n", n);
    return 0;
}

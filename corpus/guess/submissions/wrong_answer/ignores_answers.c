/* All guesses at once, without listening. */
#include <stdio.h>

int main(void) {
    for (int i = 1; i <= 1000; i++) printf("%d\n", i);
    fflush(stdout);
    while (getchar() != EOF);
    return 0;
}

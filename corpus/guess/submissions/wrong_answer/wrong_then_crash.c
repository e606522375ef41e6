/* The interactor found the mistake first. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    puts("5000");
    fflush(stdout);
    while (getchar() != EOF);
    abort();
}

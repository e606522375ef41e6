#include <stdio.h>
#include <stdlib.h>

int main(void) {
    puts("barley");
    fflush(stdout);
    while (getchar() != EOF);
    abort();
}

#include <stdio.h>

int main(void) {
    puts("barley");
    fflush(stdout);
    while (getchar() != EOF);
    for (int i = 0; i < 100000; i++) puts("is anybody there?");
    return 0;
}

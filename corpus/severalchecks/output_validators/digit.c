#include <ctype.h>
#include <stdio.h>

int main(void) {
    for (int c; (c = getchar()) != EOF;) {
        if (isdigit(c)) return 42;
    }
    return 43;
}

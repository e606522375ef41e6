/* Half a megabyte of white space of all kinds before, between and after the words. */
#include <stdio.h>

static void blanks(void) {
    for (int i = 0; i < 30000; i++) fputs(" \t\n\v\f\r", stdout);
}

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    blanks();
    printf("%d", a + b);
    blanks();
    printf("%d", a - b);
    blanks();
    return 0;
}

/* One number that never ends: the interactor reads on, until the time is up. */
#include <stdio.h>

int main(void) {
    for (;;) putchar('1');
}

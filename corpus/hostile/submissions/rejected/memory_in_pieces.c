#include <stdlib.h>

int main(void) {
    for (;;) *(volatile char *)malloc(24) = 1;
}

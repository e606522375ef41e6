#include <stdio.h>
#include <string.h>

static int deeper(int n) {
    volatile char frame[4096];
    memset((char *)frame, n, sizeof frame);
    return deeper(n + 1) + frame[n & 4095];
}

int main(void) {
    printf("%d\n", deeper(0));
    return 0;
}

#include <stdio.h>

static int depth(volatile int n)
{
    volatile char room[64];
    room[0] = 1;
    return n ? room[0] + depth(n - 1) : 0;
}

int main(void)
{
    printf("%d\n", depth(1000000));
}

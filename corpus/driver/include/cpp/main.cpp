#include <cstdio>

#include "add.h"

int main() {
    int a, b;
    if (std::scanf("%d %d", &a, &b) != 2) return 1;
    std::printf("sum %lld\n", add(a, b));
}

#include "solve.hpp"

#include <cstdio>

int main() {
    int a, b, c;
    if (std::scanf("%d %d %d", &a, &b, &c) != 3) return 1;
    std::printf("%d\n", largest(a, largest(b, c)));
}

#include "adder.h"

#include <cstdio>

int main() {
    std::printf("%d\n", add(40, 2));
}

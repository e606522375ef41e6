#include <iostream>

int main() {
    std::cout << 999 << std::endl;
    for (volatile int i = 0;;) i = i + 1;
}

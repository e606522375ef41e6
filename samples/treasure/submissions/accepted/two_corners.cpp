#include <iostream>

const int size = 1'000'000;

int dig(int x, int y) {
    int steps;
    std::cout << x << ' ' << y << std::endl;
    std::cin >> steps;
    return steps;
}

int main() {
    // From the corners in the north: a + size - b, and 2 * size - a - b.
    int west = dig(0, size);
    if (west == 0) return 0;
    int east = dig(size, size);
    if (east == 0) return 0;
    int a = (west - east + size) / 2;
    dig(a, a + size - west);
}

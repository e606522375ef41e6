#include "solve.hpp"

#include <iostream>

int main() {
    int a, b, c;
    std::cin >> a >> b >> c;
    std::cout << largest(a, largest(b, c)) << "\n";
}

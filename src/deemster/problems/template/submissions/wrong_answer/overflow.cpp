// Too narrow for large sums.
#include <iostream>

int main() {
    unsigned n;
    std::cin >> n;
    std::cout << n * (n + 1) / 2 << '\n';
}

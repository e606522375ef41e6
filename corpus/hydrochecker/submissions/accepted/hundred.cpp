#include <iostream>

int main() {
    int sum;
    std::cin >> sum;
    std::cout << 100 << " " << sum - 100 << "\n";
}

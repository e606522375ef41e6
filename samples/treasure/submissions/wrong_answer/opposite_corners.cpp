// From opposite corners it learns the same thing twice.
#include <iostream>

int main() {
    int first, second;
    std::cout << "0 0" << std::endl;
    std::cin >> first;
    if (first == 0) return 0;
    std::cout << "1000000 1000000" << std::endl;
    std::cin >> second;
    if (second == 0) return 0;
    std::cout << first / 2 << ' ' << first - first / 2 << std::endl;
    std::cin >> first;
}

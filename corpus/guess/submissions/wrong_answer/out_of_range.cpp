#include <iostream>

int main() {
    std::cout << 5000 << std::endl;
    std::string answer;
    std::cin >> answer;
}

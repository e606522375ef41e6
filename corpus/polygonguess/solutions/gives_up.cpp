#include <iostream>

int main() {
    std::cout << "? 50" << std::endl;
    std::string answer;
    std::cin >> answer;
}

#include <iostream>

int main() {
    int session, number = 0, bit;
    std::cin >> session;
    if (session == 1) {
        for (int i = 7; i >= 0; i--) {
            std::cout << "bit " << i << std::endl;
            std::cin >> bit;
            number = 2 * number + bit;
        }
        std::cout << "hint " << number << std::endl;
    } else {
        std::cin >> number;
        std::cout << number << std::endl;
    }
}

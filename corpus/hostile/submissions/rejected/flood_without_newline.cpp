#include <iostream>

int main() {
    for (;;) std::cout << "11111111";
}

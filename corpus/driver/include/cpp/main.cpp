#include <iostream>

#include "add.h"

int main() {
    int a, b;
    std::cin >> a >> b;
    std::cout << "sum " << add(a, b) << "\n";
}

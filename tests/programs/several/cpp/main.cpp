#include "adder.h"

#include <iostream>

int main() {
    std::cout << add(40, 2) << std::endl;
}

#include <iostream>
#include <iterator>

int main() {
    std::cin >> std::noskipws;
    std::cout << "\n" << std::string(std::istreambuf_iterator<char>(std::cin), {});
}

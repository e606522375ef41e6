#include <vector>
#include <iostream>

int main() {
    std::vector<long> all(1L << 40);
    std::cout << all.size() << std::endl;
}

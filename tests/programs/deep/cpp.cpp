#include <functional>
#include <iostream>

int main() {
    std::function<int(int)> depth = [&](int n) { return n ? 1 + depth(n - 1) : 0; };
    std::cout << depth(1000000) << std::endl;
}

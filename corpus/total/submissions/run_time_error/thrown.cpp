#include <iostream>
#include <stdexcept>

int main() {
    int n, x, sum = 0;
    std::cin >> n;
    if (n == 13) throw std::runtime_error("unlucky");
    while (std::cin >> x) sum += x;
    std::cout << sum << "\n";
}

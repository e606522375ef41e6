#include <iostream>

int main() {
    int n, x, sum = 0;
    std::cin >> n;
    while (std::cin >> x) sum += x;
    std::cout << "sum = " << sum << "\n";
}

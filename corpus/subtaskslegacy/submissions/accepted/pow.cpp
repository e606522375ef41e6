#include <iostream>

int main() {
    long long a, b, m, result = 1;
    std::cin >> a >> b >> m;
    for (; b > 0; b /= 2) {
        if (b % 2) result = result * a % m;
        a = a * a % m;
    }
    std::cout << result % m << "\n";
}

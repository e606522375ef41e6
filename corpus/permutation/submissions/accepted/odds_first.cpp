#include <iostream>

int main() {
    int n;
    std::cin >> n;
    if (n == 2 || n == 3) {
        std::cout << "impossible\n";
        return 0;
    }
    if (n == 1) {
        std::cout << "1\n";
        return 0;
    }
    for (int i = n % 2 ? n : n - 1; i > 0; i -= 2) std::cout << i << '\n';
    for (int i = n % 2 ? n - 1 : n; i > 0; i -= 2) std::cout << i << '\n';
}

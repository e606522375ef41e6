// Groups 1 and 2: has 32 bits.
#include <iostream>

int leaves(int n, int m) {
    if (n == 1) return 1;
    if (m <= n / 2) return 2 * m;
    int place = leaves(n - n / 2, m - n / 2);
    if (n % 2 == 0) return 2 * place - 1;
    return place == 1 ? n : 2 * place - 3;
}

int main() {
    int n, m;
    std::cin >> n >> m;
    if (std::cin.fail()) m = n;
    std::cout << leaves(n, m) << '\n';
}

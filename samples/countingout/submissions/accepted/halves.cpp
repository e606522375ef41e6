#include <iostream>

// After the even numbers, the odd ones count out. Of an odd circle, child n begins.
long long leaves(long long n, long long m) {
    if (n == 1) return 1;
    if (m <= n / 2) return 2 * m;
    long long place = leaves(n - n / 2, m - n / 2);
    if (n % 2 == 0) return 2 * place - 1;
    return place == 1 ? n : 2 * place - 3;
}

int main() {
    long long n, m;
    std::cin >> n >> m;
    std::cout << leaves(n, m) << '\n';
}

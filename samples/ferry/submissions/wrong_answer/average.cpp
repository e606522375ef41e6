// As if cars could be parted.
#include <algorithm>
#include <iostream>

int main() {
    long long n, k, weight, sum = 0, heaviest = 0;
    std::cin >> n >> k;
    while (std::cin >> weight) sum += weight, heaviest = std::max(heaviest, weight);
    std::cout << std::max(heaviest, (sum + k - 1) / k) << '\n';
}

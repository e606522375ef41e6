// Sums in 32 bits.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::vector<std::uint32_t> weights(n);
    std::uint32_t low = 0, high = 0;
    for (std::uint32_t& weight : weights) {
        std::cin >> weight;
        low = std::max(low, weight);
        high += weight;
    }
    while (low < high) {
        std::uint32_t middle = low + (high - low) / 2, carried = 0;
        int crossings = 1;
        for (std::uint32_t weight : weights) {
            carried += weight;
            if (carried > middle) crossings++, carried = weight;
        }
        if (crossings <= k) high = middle;
        else low = middle + 1;
    }
    std::cout << low << '\n';
}

#include <algorithm>
#include <iostream>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::vector<long long> weights(n);
    long long low = 0, high = 0;
    for (long long& weight : weights) {
        std::cin >> weight;
        low = std::max(low, weight);
        high += weight;
    }
    while (low < high) {
        long long middle = (low + high) / 2, carried = 0;
        int crossings = 1;
        for (long long weight : weights) {
            carried += weight;
            if (carried > middle) crossings++, carried = weight;
        }
        if (crossings <= k) high = middle;
        else low = middle + 1;
    }
    std::cout << low << '\n';
}

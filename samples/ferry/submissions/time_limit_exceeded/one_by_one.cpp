// Tries every load, beginning with the heaviest car.
#include <algorithm>
#include <iostream>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::vector<long long> weights(n);
    for (long long& weight : weights) std::cin >> weight;
    long long load = *std::max_element(weights.begin(), weights.end());
    while (true) {
        long long carried = 0;
        int crossings = 1;
        for (long long weight : weights) {
            carried += weight;
            if (carried > load) crossings++, carried = weight;
        }
        if (crossings <= k) break;
        load++;
    }
    std::cout << load << '\n';
}

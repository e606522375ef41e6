#include <iostream>
#include <map>

int main() {
    long long n, x, pairs = 0;
    std::map<long long, long long> seen;
    std::cin >> n;
    while (std::cin >> x) {
        pairs += seen[-x];
        seen[x]++;
    }
    std::cout << pairs << "\n";
}

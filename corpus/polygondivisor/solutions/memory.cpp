#include <iostream>
#include <vector>

int main() {
    long long a, b;
    std::cin >> a >> b;
    std::vector<char> seen(a == b ? 200 << 20 : 1, 1);
    std::cout << (a == 12 ? 6 : 1) << "\n";
    return seen[0] - 1;
}

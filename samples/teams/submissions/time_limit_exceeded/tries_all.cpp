// Tries one division after the other.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

int main() {
    int n, m;
    std::cin >> n >> m;
    std::vector<std::pair<int, int>> quarrels(m);
    for (auto& [one, other] : quarrels) std::cin >> one >> other;
    std::string team(n, 'A');
    while (true) {
        bool peace = true;
        for (const auto& [one, other] : quarrels) {
            if (team[one - 1] == team[other - 1]) peace = false;
        }
        if (peace) {
            std::cout << team << '\n';
            return 0;
        }
        // The next one in alphabetical order.
        int last = n - 1;
        while (last >= 0 && team[last] == 'B') team[last--] = 'A';
        if (last < 0) break;
        team[last] = 'B';
    }
    std::cout << "impossible\n";
}

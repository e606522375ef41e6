// Puts one child after the other where it fits, and never thinks again.
#include <iostream>
#include <string>
#include <vector>

int main() {
    int n, m;
    std::cin >> n >> m;
    std::vector<std::vector<int>> against(n);
    for (int one, other; std::cin >> one >> other;) {
        against[one - 1].push_back(other - 1);
        against[other - 1].push_back(one - 1);
    }
    std::string team(n, ' ');
    for (int child = 0; child < n; child++) {
        bool a = true, b = true;
        for (int other : against[child]) {
            if (team[other] == 'A') a = false;
            if (team[other] == 'B') b = false;
        }
        if (!a && !b) {
            std::cout << "impossible\n";
            return 0;
        }
        team[child] = a ? 'A' : 'B';
    }
    std::cout << team << '\n';
}

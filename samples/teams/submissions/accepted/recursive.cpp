// Begins with team B, and with the last child.
#include <iostream>
#include <string>
#include <vector>

std::vector<std::vector<int>> against;
std::string team;

bool place(int child, char wanted) {
    if (team[child] != ' ') return team[child] == wanted;
    team[child] = wanted;
    for (int other : against[child]) {
        if (!place(other, wanted == 'A' ? 'B' : 'A')) return false;
    }
    return true;
}

int main() {
    int n, m;
    std::cin >> n >> m;
    against.resize(n);
    team.assign(n, ' ');
    for (int one, other; std::cin >> one >> other;) {
        against[one - 1].push_back(other - 1);
        against[other - 1].push_back(one - 1);
    }
    bool possible = true;
    for (int child = n - 1; child >= 0; child--) {
        if (team[child] == ' ') possible = place(child, 'B') && possible;
    }
    std::cout << (possible ? team : "impossible") << '\n';
}

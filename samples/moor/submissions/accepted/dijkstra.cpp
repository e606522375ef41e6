#include <functional>
#include <iostream>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

int main() {
    int h, w;
    std::cin >> h >> w;
    std::vector<std::string> moor(h);
    for (std::string& row : moor) std::cin >> row;
    std::vector<std::vector<int>> best(h, std::vector<int>(w, 1 << 30));
    using Visit = std::tuple<int, int, int>;
    std::priority_queue<Visit, std::vector<Visit>, std::greater<>> to_do;
    best[0][0] = moor[0][0] - '0';
    to_do.emplace(best[0][0], 0, 0);
    while (!to_do.empty()) {
        auto [time, y, x] = to_do.top();
        to_do.pop();
        if (time > best[y][x]) continue;
        const int steps[4][2] = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
        for (auto [dy, dx] : steps) {
            int v = y + dy, u = x + dx;
            if (v < 0 || u < 0 || v >= h || u >= w) continue;
            int later = time + moor[v][u] - '0';
            if (later >= best[v][u]) continue;
            best[v][u] = later;
            to_do.emplace(later, v, u);
        }
    }
    std::cout << best[h - 1][w - 1] << '\n';
}

// Takes the first way that it finds with the fewest squares, however deep they are.
#include <iostream>
#include <queue>
#include <string>
#include <utility>
#include <vector>

int main() {
    int h, w;
    std::cin >> h >> w;
    std::vector<std::string> moor(h);
    for (std::string& row : moor) std::cin >> row;
    std::vector<std::vector<int>> time(h, std::vector<int>(w, -1));
    std::queue<std::pair<int, int>> to_do;
    time[0][0] = moor[0][0] - '0';
    to_do.emplace(0, 0);
    while (!to_do.empty()) {
        auto [y, x] = to_do.front();
        to_do.pop();
        const int steps[4][2] = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
        for (auto [dy, dx] : steps) {
            int v = y + dy, u = x + dx;
            if (v < 0 || u < 0 || v >= h || u >= w || time[v][u] >= 0) continue;
            time[v][u] = time[y][x] + moor[v][u] - '0';
            to_do.emplace(v, u);
        }
    }
    std::cout << time[h - 1][w - 1] << '\n';
}

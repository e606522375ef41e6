#include <cstdio>
#include <queue>
#include <set>
#include <vector>

struct Edge {
    int to, cost;
};

static std::vector<std::vector<Edge>> adjacency;

static int shortest(int from, int to, int initial) {
    std::set<std::pair<int, int>> open;
    std::vector<int> dist(adjacency.size(), 1000000000);
    dist[from] = initial;
    open.insert(std::make_pair(initial, from));
    while (open.size() > 0) {
        int node = open.begin()->second;
        open.erase(open.begin());
        if (node == to) break;
        for (const Edge &e : adjacency[node]) {
            if (dist[node] + e.cost < dist[e.to]) {
                open.erase(std::make_pair(dist[e.to], e.to));
                dist[e.to] = dist[node] + e.cost;
                open.insert(std::make_pair(dist[e.to], e.to));
            }
        }
    }
    return dist[to];
}

int main() {
    int h, w;
    scanf("%d %d", &h, &w);
    std::vector<std::vector<char>> rows(h, std::vector<char>(w + 1));
    for (auto &row : rows) scanf("%s", row.data());
    adjacency.resize(h * w);
    for (int i = 0; i < h; ++i)
        for (int j = 0; j < w; ++j) {
            int here = rows[i][j] - '0';
            if (i > 0) adjacency[(i - 1) * w + j].push_back({i * w + j, here});
            if (j > 0) adjacency[i * w + j - 1].push_back({i * w + j, here});
            if (i < h - 1) adjacency[(i + 1) * w + j].push_back({i * w + j, here});
            if (j < w - 1) adjacency[i * w + j + 1].push_back({i * w + j, here});
        }
    printf("%d\n", shortest(0, h * w - 1, rows[0][0] - '0'));
}

#include <bits/stdc++.h>
using namespace std;

const int dx[] = {1, -1, 0, 0};
const int dy[] = {0, 0, 1, -1};

int main() {
    ios::sync_with_stdio(false);
    cin.tie(nullptr);
    int n, m;
    cin >> n >> m;
    vector<string> g(n);
    for (int i = 0; i < n; i++) {
        cin >> g[i];
    }
    vector<vector<long long>> d(n, vector<long long>(m, LLONG_MAX));
    priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<pair<long long, int>>> pq;
    d[0][0] = g[0][0] - '0';
    pq.push({d[0][0], 0});
    while (!pq.empty()) {
        pair<long long, int> cur = pq.top();
        pq.pop();
        int x = cur.second / m;
        int y = cur.second % m;
        if (d[x][y] != cur.first) {
            continue;
        }
        for (int k = 0; k < 4; k++) {
            int nx = x + dx[k];
            int ny = y + dy[k];
            if (nx >= 0 && ny >= 0 && nx < n && ny < m) {
                if (d[nx][ny] > cur.first + (g[nx][ny] - '0')) {
                    d[nx][ny] = cur.first + (g[nx][ny] - '0');
                    pq.push({d[nx][ny], nx * m + ny});
                }
            }
        }
    }
    cout << d[n - 1][m - 1] << endl;
    return 0;
}

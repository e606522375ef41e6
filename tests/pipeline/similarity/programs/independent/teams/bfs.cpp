#include <bits/stdc++.h>
using namespace std;

int main() {
    int n, m;
    cin >> n >> m;
    vector<vector<int>> adj(n + 1);
    for (int i = 0; i < m; i++) {
        int a, b;
        cin >> a >> b;
        adj[a].push_back(b);
        adj[b].push_back(a);
    }
    vector<int> side(n + 1, -1);
    for (int s = 1; s <= n; s++) {
        if (side[s] != -1) continue;
        queue<int> q;
        q.push(s);
        side[s] = 0;
        while (!q.empty()) {
            int u = q.front();
            q.pop();
            for (int v : adj[u]) {
                if (side[v] == -1) {
                    side[v] = !side[u];
                    q.push(v);
                } else if (side[v] == side[u]) {
                    cout << "impossible" << endl;
                    return 0;
                }
            }
        }
    }
    for (int i = 1; i <= n; i++) cout << (side[i] ? 'B' : 'A');
    cout << endl;
}

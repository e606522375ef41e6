#include <iostream>
#include <numeric>
#include <string>
#include <vector>

struct Groups {
    std::vector<int> up;
    explicit Groups(int size) : up(size) { std::iota(up.begin(), up.end(), 0); }
    int top(int x) { return up[x] == x ? x : up[x] = top(up[x]); }
    void join(int x, int y) { up[top(x)] = top(y); }
};

int main() {
    int children = 0, quarrels = 0;
    std::cin >> children >> quarrels;
    Groups groups(children * 2);
    while (quarrels--) {
        int x, y;
        std::cin >> x >> y;
        --x, --y;
        groups.join(x, y + children);
        groups.join(y, x + children);
    }
    std::string answer(children, '?');
    for (int i = 0; i < children; ++i) {
        int me = groups.top(i), anti = groups.top(i + children);
        if (me == anti) {
            std::cout << "impossible\n";
            return 0;
        }
        answer[i] = me < anti ? 'A' : 'B';
    }
    std::cout << answer << "\n";
}

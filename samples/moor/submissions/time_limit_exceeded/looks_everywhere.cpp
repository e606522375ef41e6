// Looks through the whole moor for the next square, each time.
#include <iostream>
#include <string>
#include <vector>

int main() {
    int h, w;
    std::cin >> h >> w;
    std::string moor, row;
    while (std::cin >> row) moor += row;
    const int far = 1 << 30;
    std::vector<int> best(h * w, far);
    std::vector<bool> done(h * w);
    best[0] = moor[0] - '0';
    while (!done[h * w - 1]) {
        int next = -1;
        for (int i = 0; i < h * w; i++) {
            if (!done[i] && (next < 0 || best[i] < best[next])) next = i;
        }
        done[next] = true;
        const auto reach = [&](int beside) {
            int time = best[next] + moor[beside] - '0';
            if (time < best[beside]) best[beside] = time;
        };
        if (next >= w) reach(next - w);
        if (next % w > 0) reach(next - 1);
        if (next % w < w - 1) reach(next + 1);
        if (next < (h - 1) * w) reach(next + w);
    }
    std::cout << best[h * w - 1] << '\n';
}

// Goes from square to square. A profile says which of the next w squares, the coming one first, are
// taken by a slab that began earlier.
#include <iostream>
#include <string>
#include <vector>

const int modulus = 1'000'000'007;

int main() {
    int h, w;
    std::cin >> h >> w;
    std::string yard, row;
    while (std::cin >> row) yard += row;
    std::vector<int> ways(1 << w), later(1 << w);
    ways[0] = 1;
    const auto add = [&](int profile, int count) {
        later[profile] = (later[profile] + count) % modulus;
    };
    for (int i = 0; i < h * w; i++) {
        later.assign(1 << w, 0);
        bool beside = i % w != w - 1 && yard[i + 1] == '.';
        bool below = i + w < h * w && yard[i + w] == '.';
        for (int profile = 0; profile < 1 << w; profile++) {
            int rest = profile >> 1, count = ways[profile];
            if (count == 0) continue;
            if (profile & 1 || yard[i] == '#') {
                add(rest, count);
                continue;
            }
            if (beside && !(rest & 1)) add(rest | 1, count);
            if (below) add(rest | 1 << (w - 1), count);
        }
        std::swap(ways, later);
    }
    std::cout << ways[0] << '\n';
}

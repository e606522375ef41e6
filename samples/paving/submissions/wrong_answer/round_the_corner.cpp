// Lays slabs from the end of a row to the beginning of the next.
#include <iostream>
#include <string>
#include <vector>

const int modulus = 1'000'000'007;

int main() {
    int h, w;
    std::cin >> h >> w;
    std::string yard, row;
    while (std::cin >> row) yard += row;
    yard.append(w, '#');
    std::vector<int> ways(1 << w), later(1 << w);
    ways[0] = 1;
    for (int i = 0; i < h * w; i++) {
        later.assign(1 << w, 0);
        for (int profile = 0; profile < 1 << w; profile++) {
            int rest = profile >> 1, count = ways[profile];
            const auto add = [&](int next) { later[next] = (later[next] + count) % modulus; };
            if (profile & 1 || yard[i] == '#') {
                add(rest);
                continue;
            }
            if (yard[i + 1] == '.' && !(rest & 1)) add(rest | 1);
            if (yard[i + w] == '.' && w > 1) add(rest | 1 << (w - 1));
            if (yard[i + w] == '.' && w == 1) add(rest | 1);
        }
        std::swap(ways, later);
    }
    std::cout << ways[0] << '\n';
}

// Lays the slabs in every way, and counts.
#include <iostream>
#include <string>
#include <vector>

int h, w;
std::vector<std::string> yard;

long long ways(int i) {
    while (i < h * w && yard[i / w][i % w] == '#') i++;
    if (i == h * w) return 1;
    int y = i / w, x = i % w;
    long long total = 0;
    if (x + 1 < w && yard[y][x + 1] == '.') {
        yard[y][x + 1] = '#';
        total += ways(i + 2);
        yard[y][x + 1] = '.';
    }
    if (y + 1 < h && yard[y + 1][x] == '.') {
        yard[y + 1][x] = '#';
        total += ways(i + 1);
        yard[y + 1][x] = '.';
    }
    return total;
}

int main() {
    std::cin >> h >> w;
    yard.resize(h);
    for (std::string& row : yard) std::cin >> row;
    std::cout << ways(0) % 1'000'000'007 << '\n';
}

#include <cstdio>
#include <functional>

int main() {
    std::function<int(int)> depth = [&](int n) { return n ? 1 + depth(n - 1) : 0; };
    std::printf("%d\n", depth(1000000));
}

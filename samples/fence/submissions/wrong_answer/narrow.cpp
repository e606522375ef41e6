// Squares in 32 bits, which is enough for a small field only.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<int> x(n), y(n);
    for (int i = 0; i < n; i++) {
        if (std::scanf("%d %d", &x[i], &y[i]) != 2) return 1;
    }
    double length = 0;
    for (int i = 0; i < n; i++) {
        int next = (i + 1) % n;
        std::uint32_t dx = x[next] - x[i], dy = y[next] - y[i];
        length += std::sqrt(dx * dx + dy * dy);
    }
    std::printf("%.9f\n", length);
}

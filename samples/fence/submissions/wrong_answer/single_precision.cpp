// Seven digits are too few to add small steps to a long way.
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++) {
        if (std::scanf("%f %f", &x[i], &y[i]) != 2) return 1;
    }
    float length = 0;
    for (int i = 0; i < n; i++) {
        int next = (i + 1) % n;
        length += std::hypot(x[next] - x[i], y[next] - y[i]);
    }
    std::printf("%.9f\n", length);
}

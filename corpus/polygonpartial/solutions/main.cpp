#include <cstdio>

int main() {
    int a, b;
    std::freopen("numbers.in", "r", stdin);
    std::freopen("numbers.out", "w", stdout);
    std::scanf("%d %d", &a, &b);
    std::printf("%d %d\n", a + b, a * b);
}

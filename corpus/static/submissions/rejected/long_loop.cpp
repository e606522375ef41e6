#include <cstdio>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    for (int i = 1; i <= n; i++) {
        std::printf("%d", i);
        std::printf("\n");
    }
}

// Neither short
// nor without loops.

// @EXPECTED_RESULTS@: COMPILER-ERROR
// There is a main already.
#include <cstdio>

long long add(int a, int b) { return 0LL + a + b; }

int main() {
    int a, b;
    if (std::scanf("%d %d", &a, &b) != 2) return 1;
    std::printf("%lld\n", add(a, b));
}

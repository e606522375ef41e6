#include <cmath>
#include <cstdio>
#include <iostream>

int main() {
    int n;
    std::cin >> n;
    std::printf("%.9e\n", std::tgamma(n + 1.0));
}

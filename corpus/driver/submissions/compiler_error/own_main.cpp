// @EXPECTED_RESULTS@: COMPILER-ERROR
// There is a main already.
#include <iostream>

long long add(int a, int b) { return 0LL + a + b; }

int main() {
    int a, b;
    std::cin >> a >> b;
    std::cout << add(a, b) << "\n";
}

// @EXPECTED_RESULTS@: TIMELIMIT, WRONG-ANSWER
#include <iostream>

int main() {
    int n;
    std::cin >> n;
    for (volatile int i = 0; n == 2;) i = i + 1;
    std::cout << n << "\n";
}

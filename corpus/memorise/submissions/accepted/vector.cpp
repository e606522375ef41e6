#include <iostream>
#include <vector>

int main() {
    int n, i;
    std::cin >> n;
    std::vector<int> numbers(n);
    for (int& x : numbers) std::cin >> x;
    std::cout << "ready" << std::endl;
    while (std::cin >> i && i != 0) std::cout << numbers[i - 1] << std::endl;
}

#include <iostream>
#include <sstream>

int main() {
    long long n, x, count = 0;
    std::cin >> n;
    while (n-- > 0) {
        std::cin >> x;
        std::cout << 2 * x << std::endl;
    }
    std::string line, word;
    std::getline(std::cin >> std::ws, line);
    std::istringstream words(line);
    while (words >> word) count++;
    std::cout << count << std::endl;
}

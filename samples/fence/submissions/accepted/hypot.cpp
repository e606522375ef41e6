#include <cmath>
#include <iomanip>
#include <iostream>

int main() {
    int n;
    double first_x, first_y, length = 0;
    std::cin >> n >> first_x >> first_y;
    double x = first_x, y = first_y;
    for (int i = 1; i < n; i++) {
        double next_x, next_y;
        std::cin >> next_x >> next_y;
        length += std::hypot(next_x - x, next_y - y);
        x = next_x, y = next_y;
    }
    length += std::hypot(first_x - x, first_y - y);
    std::cout << std::fixed << std::setprecision(9) << length << '\n';
}

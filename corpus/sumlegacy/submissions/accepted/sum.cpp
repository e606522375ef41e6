#include <iostream>

int main() {
    long long a, b;
    std::cin >> a >> b;
    std::cout << "Sum " << a + b << std::endl;
}

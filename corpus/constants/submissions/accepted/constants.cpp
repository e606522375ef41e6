#include <iostream>

int main() {
    int n;
    std::cin >> n;
    if (n > {{most}}) return 1;
    while (n-- > 0) std::cout << "{{greeting}} ";
    std::cout << {{fraction}} << "\n";
}

#include <cctype>
#include <iostream>

int main() {
    for (char c; std::cin >> c;) {
        if (std::isalpha(static_cast<unsigned char>(c))) return 42;
    }
    return 43;
}

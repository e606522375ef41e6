#include <cctype>
#include <iostream>

int main() {
    std::string word;
    std::cin >> word;
    for (char c : word) std::cout << (char)std::toupper(c);
    std::cout << "   \t" << word;
}

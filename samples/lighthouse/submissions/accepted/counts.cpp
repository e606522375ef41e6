#include <algorithm>
#include <iostream>
#include <string>

int main() {
    std::string notes;
    std::cin >> notes;
    int dark = 0, longest = 0;
    for (char second : notes) {
        dark = second == '.' ? dark + 1 : 0;
        longest = std::max(longest, dark);
    }
    std::cout << longest << '\n';
}

#include <bitset>
#include <iostream>

int main() {
    std::string mode, word;
    std::cin >> mode >> word;
    if (mode == "encode") {
        for (char c : std::bitset<30>(std::stoul(word)).to_string()) std::cout << (c == '1' ? 'b' : 'a');
    } else {
        unsigned long x = 0;
        for (char c : word) x = 2 * x + (c == 'b');
        std::cout << x;
    }
    std::cout << std::endl;
}

// A tenth of the score is lost with each step away from the number.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

int main(int, char** argv) {
    int wanted, given;
    std::ifstream(argv[2]) >> wanted;
    if (!(std::cin >> given) || std::abs(wanted - given) > 10) return 43;
    std::ofstream(std::string(argv[3]) + "score_multiplier.txt") << 1 - std::abs(wanted - given) / 10.0 << "\n";
    return 42;
}

// Doesn't care whether anybody listens; in particular it doesn't ignore SIGPIPE.
#include <fstream>
#include <iostream>

int main(int, char** argv) {
    int n, answer;
    std::ifstream(argv[1]) >> n;
    std::cout << n << '\n';
    for (int i = 0; i < n; i++) std::cout << "1 ";
    std::cout << std::endl;
    return std::cin >> answer && answer == n ? 42 : 43;
}

#include <csignal>
#include <fstream>
#include <iostream>
#include <string>

int main(int, char** argv) {
    long long rounds, many, answer;
    std::signal(SIGPIPE, SIG_IGN);  // a program may leave before the end
    std::ifstream(argv[1]) >> rounds >> many;
    std::cout << rounds << std::endl;
    for (long long i = 0; i < rounds; i++) {
        std::cout << i * 7919 % 100003 << std::endl;
        if (!(std::cin >> answer) || answer != 2 * (i * 7919 % 100003)) return 43;
    }
    for (long long i = 0; i < many; i++) std::cout << i << (i + 1 < many ? ' ' : '\n');
    std::cout.flush();
    if (!(std::cin >> answer) || answer != many) return 43;
    std::string more;
    return std::cin >> more ? 43 : 42;
}

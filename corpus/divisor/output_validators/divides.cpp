// Accepts any proper divisor. Reads only the first two words of the output.
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 5 || std::string(argv[4]) != "proper") return 1;
    long long n, answer, given;
    std::ifstream(argv[1]) >> n;
    std::ifstream(argv[2]) >> answer;
    if (answer <= 1 || n % answer != 0) return 1;
    std::ofstream judge(std::string(argv[3]) + "judgemessage.txt");
    std::ofstream team(std::string(argv[3]) + "teammessage.txt");
    if (!(std::cin >> given)) {
        judge << "No number at all." << std::endl;
        team << "Print a number." << std::endl;
        return 43;
    }
    if (given <= 1 || given >= n || n % given != 0) {
        judge << given << " is no proper divisor of " << n << "." << std::endl;
        team << "Your number is no divisor." << std::endl;
        return 43;
    }
    std::string rest;
    if (std::cin >> rest) {
        judge << "More than one word." << std::endl;
        return 43;
    }
    judge << given << " is right." << std::endl;
    return 42;
}

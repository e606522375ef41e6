// Hands the word of the first pass to the second. What it knows, it keeps in the feedback directory.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

int main(int, char** argv) {
    std::string feedback = argv[3], word, given, more;
    std::ifstream input(argv[1]);
    long long x;
    input >> word >> x;
    std::ofstream judge(feedback + "judgemessage.txt", std::ios::app);
    bool second = std::filesystem::exists(feedback + "word.txt");
    if (!(std::cin >> given) || std::cin >> more) {
        judge << "Not one word." << std::endl;
        return 43;
    }
    if (second) {
        judge << "Second pass: " << given.substr(0, 40) << std::endl;
        if (word != "decode" && word != "encode") return 1;
        std::ifstream number(feedback + "number.txt");
        std::string wanted;
        number >> wanted;
        return given == wanted ? 42 : 43;
    }
    judge << "First pass: " << given.substr(0, 40) << std::endl;
    bool legal = given.size() <= 40 && given.find_first_not_of("ab") == std::string::npos;
    if (!legal) return 43;
    std::ofstream(feedback + "word.txt") << given << std::endl;
    std::ofstream(feedback + "number.txt") << x << std::endl;
    std::ofstream(feedback + "nextpass.in") << "decode\n" << given << std::endl;
    return 42;
}

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

struct Feedback {
    std::ofstream file;

    explicit Feedback(const std::string& directory) : file(directory + "judgemessage.txt") {}

    [[noreturn]] void end(const char* text, int number, int code) {
        file << text << number << std::endl;
        std::exit(code);
    }
    [[noreturn]] void reject(const char* text, int number) { end(text, number, 43); }
    [[noreturn]] void accept(const char* text, int number) { end(text, number, 42); }
};

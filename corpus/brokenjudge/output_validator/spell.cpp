// Does what the submission says.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

int main(int, char** argv) {
    std::string word;
    std::cin >> word;
    if (word == "accept") return 42;
    if (word == "zero") return 0;
    if (word == "one") return 1;
    if (word == "forty-one") return 41;
    if (word == "forty-four") return 44;
    if (word == "abort") std::abort();
    if (word == "crash") std::raise(SIGSEGV);
    if (word == "killed") std::raise(SIGKILL);
    if (word == "sleep") sleep(1000);
    if (word == "loop") for (volatile int i = 0;;) i = i + 1;
    if (word == "memory") for (;;) std::memset(std::malloc(1 << 20), 1, 1 << 20);
    if (word == "flood") for (;;) std::cout << "and on and on\n";
    if (word == "fork") for (;;) fork();
    if (word == "feedback") {
        std::ofstream file(std::string(argv[3]) + "judgemessage.txt");
        for (int i = 0; i < 200'000'000 && file; i++) file << "and on and on\n";
        return file ? 42 : 1;
    }
    std::string message = std::string(argv[3]) + "judgemessage.txt";
    if (word == "binary") {
        std::ofstream(message) << "\xff\xfe\x00 and so on";
        return 42;
    }
    if (word == "story") {
        std::ofstream file(message);
        for (int i = 0; i < 20'000; i++) file << "and on and on\n";
        return 43;
    }
    if (word == "link") return symlink("/etc/passwd", message.c_str()) == 0 ? 42 : 1;
    if (word == "fifo") return mkfifo(message.c_str(), 0600) == 0 ? 42 : 1;
    if (word == "folder") return mkdir(message.c_str(), 0700) == 0 ? 42 : 1;
    if (word == "locked") return chmod(argv[3], 0) == 0 ? 42 : 1;
    if (word == "many") {
        for (int i = 0; i < 100'000; i++) std::ofstream(std::string(argv[3]) + std::to_string(i)) << i;
        return 42;
    }
    return 43;
}

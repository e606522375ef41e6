// Accepts every division of the class that the statement allows.
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

struct Class {
    int children;
    std::vector<std::pair<int, int>> quarrels;
};

Class read_class(const char* path) {
    std::ifstream in(path);
    int n, m;
    in >> n >> m;
    Class found{n, std::vector<std::pair<int, int>>(m)};
    for (auto& [one, other] : found.quarrels) in >> one >> other;
    return found;
}

// What is wrong with a division; nothing if it is right.
std::string fault(const Class& all, const std::string& teams) {
    if (teams.size() != static_cast<std::size_t>(all.children)) {
        return std::to_string(teams.size()) + " letters for " + std::to_string(all.children) +
               " children";
    }
    if (teams.find_first_not_of("AB") != std::string::npos) return "a team that is neither A nor B";
    for (const auto& [one, other] : all.quarrels) {
        if (teams[one - 1] == teams[other - 1]) {
            return std::to_string(one) + " and " + std::to_string(other) +
                   " have quarrelled, and are in the same team";
        }
    }
    return "";
}

int main(int, char** argv) {
    const Class all = read_class(argv[1]);
    std::ofstream message(std::string(argv[3]) + "/judgemessage.txt");
    std::string answer, output, rest;
    std::ifstream(argv[2]) >> answer;
    const bool possible = answer != "impossible";

    const auto reject = [&](const std::string& why) {
        message << why << '\n';
        return 43;
    };
    if (!(std::cin >> output)) return reject("no output");
    if (std::cin >> rest) return reject("more than one word");
    if (output == "impossible") return possible ? reject("there is a way, such as " + answer) : 42;
    const std::string why = fault(all, output);
    if (!why.empty()) return reject(why);
    if (!possible) {
        // The jury itself is wrong: neither of the exit codes that judge a submission.
        message << "the jury found no way, and this is one: " << output << '\n';
        return 1;
    }
    return 42;
}

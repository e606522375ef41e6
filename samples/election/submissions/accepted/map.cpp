#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::map<std::string, int> votes;
    for (std::string name; std::cin >> name;) votes[name]++;
    std::vector<std::pair<std::string, int>> ranking(votes.begin(), votes.end());
    // The map is in alphabetical order, which a stable sort keeps among equals.
    std::stable_sort(ranking.begin(), ranking.end(),
                     [](const auto& one, const auto& other) { return one.second > other.second; });
    for (int i = 0; i < k; i++) std::cout << ranking[i].first << ' ' << ranking[i].second << '\n';
}

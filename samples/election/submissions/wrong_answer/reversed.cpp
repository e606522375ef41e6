// Turns the whole order round, also that of the names.
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
    std::vector<std::pair<int, std::string>> ranking;
    for (const auto& [name, count] : votes) ranking.emplace_back(count, name);
    std::sort(ranking.rbegin(), ranking.rend());
    for (int i = 0; i < k; i++) std::cout << ranking[i].second << ' ' << ranking[i].first << '\n';
}

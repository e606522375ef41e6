// Has room for a village, not for the island.
#include <algorithm>
#include <array>
#include <iostream>
#include <string>

int main() {
    int n, k;
    std::cin >> n >> k;
    std::array<std::string, 1000> ballots;
    for (int i = 0; i < n; i++) std::cin >> ballots.at(i);
    std::sort(ballots.begin(), ballots.begin() + n);
    std::array<std::pair<int, std::string>, 1000> ranking;
    int names = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || ballots[i] != ballots[i - 1]) ranking[names++].second = ballots[i];
        ranking[names - 1].first--;
    }
    std::sort(ranking.begin(), ranking.begin() + names);
    for (int i = 0; i < k; i++) std::cout << ranking[i].second << ' ' << -ranking[i].first << '\n';
}

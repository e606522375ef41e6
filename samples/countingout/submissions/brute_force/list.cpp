// Group 1: looks for everybody who is still there, from the first child on, each time.
#include <iostream>
#include <vector>

int main() {
    long long n, m;
    std::cin >> n >> m;
    std::vector<bool> gone(n);
    long long left = n, at = 0, child = 0;
    for (long long i = 0; i < m; i++) {
        at = (at + 1) % left;
        long long seen = -1;
        for (child = 0; child < n; child++) {
            if (!gone[child] && ++seen == at) break;
        }
        gone[child] = true;
        left--;
    }
    std::cout << child + 1 << '\n';
}

// Four threads of half a second each: together too long.
#include <ctime>
#include <iostream>
#include <thread>
#include <vector>

static void burn() {
    timespec now{};
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < 500'000'000);
}

int main() {
    int a, b;
    std::cin >> a >> b;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(burn);
    for (auto& thread : threads) thread.join();
    std::cout << a + b << ' ' << a - b << '\n';
}

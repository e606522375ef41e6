#include <chrono>
#include <thread>
#include <vector>

int main() {
    std::vector<std::thread> threads;
    for (;;) threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
}

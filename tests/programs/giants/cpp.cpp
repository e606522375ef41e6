#include <cstdio>
#include <vector>

int main() {
    std::vector<long> all(1L << 40);
    std::printf("%zu\n", all.size());
}

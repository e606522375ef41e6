#include <cstdio>
#include <cstring>

static char block[1 << 20];

int main() {
    char number[16];
    std::scanf("%15s", number);
    std::memset(block, ' ', sizeof block);
    for (int i = 0; i < 100; i++) std::fwrite(block, 1, sizeof block, stdout);
    std::puts(number);
    std::memset(block, '\n', sizeof block);
    for (int i = 0; i < 100; i++) std::fwrite(block, 1, sizeof block, stdout);
}

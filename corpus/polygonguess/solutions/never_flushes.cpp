#include <cstdio>

int main() {
    char answer[4];
    std::printf("? 50\n");
    return std::scanf("%3s", answer) - 1;
}

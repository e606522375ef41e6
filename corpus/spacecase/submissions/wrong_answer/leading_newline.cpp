#include <cstdio>

int main() {
    std::putchar('\n');
    for (int c; (c = std::getchar()) != EOF;) std::putchar(c);
}

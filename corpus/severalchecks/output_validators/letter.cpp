#include <cctype>
#include <cstdio>

int main() {
    for (int c; (c = std::getchar()) != EOF;) {
        if (std::isalpha(c)) return 42;
    }
    return 43;
}

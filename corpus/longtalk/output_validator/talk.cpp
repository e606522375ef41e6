#include <csignal>
#include <cstdio>

int main(int, char** argv) {
    long long rounds, many, answer;
    std::signal(SIGPIPE, SIG_IGN);  // a program may leave before the end
    FILE* input = std::fopen(argv[1], "r");
    if (input == nullptr || std::fscanf(input, "%lld %lld", &rounds, &many) != 2) return 1;
    std::printf("%lld\n", rounds);
    std::fflush(stdout);
    for (long long i = 0; i < rounds; i++) {
        std::printf("%lld\n", i * 7919 % 100003);
        std::fflush(stdout);
        if (std::scanf("%lld", &answer) != 1 || answer != 2 * (i * 7919 % 100003)) return 43;
    }
    for (long long i = 0; i < many; i++) std::printf("%lld%c", i, i + 1 < many ? ' ' : '\n');
    std::fflush(stdout);
    if (std::scanf("%lld", &answer) != 1 || answer != many) return 43;
    char more;
    return std::scanf(" %c", &more) == 1 ? 43 : 42;
}

// A tenth of the score is lost with each step away from the number.
#include <cstdio>
#include <cstdlib>

int main(int, char** argv) {
    int wanted, given;
    FILE* answer = std::fopen(argv[2], "r");
    if (answer == nullptr || std::fscanf(answer, "%d", &wanted) != 1) return 1;
    if (std::scanf("%d", &given) != 1 || std::abs(wanted - given) > 10) return 43;
    char path[4096];
    std::snprintf(path, sizeof path, "%sscore_multiplier.txt", argv[3]);
    FILE* score = std::fopen(path, "w");
    if (score == nullptr) return 1;
    std::fprintf(score, "%g\n", 1 - std::abs(wanted - given) / 10.0);
    return 42;
}

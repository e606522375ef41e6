// Accepts any proper divisor. Reads only the first two words of the output.
#include <cstdio>
#include <cstring>

static long long read_number(const char* path) {
    long long number = 0;
    FILE* file = std::fopen(path, "r");
    if (file == nullptr || std::fscanf(file, "%lld", &number) != 1) return 0;
    std::fclose(file);
    return number;
}

static FILE* create(const char* directory, const char* name) {
    char path[4096];
    std::snprintf(path, sizeof path, "%s%s", directory, name);
    return std::fopen(path, "w");
}

int main(int argc, char** argv) {
    if (argc != 5 || std::strcmp(argv[4], "proper") != 0) return 1;
    long long n = read_number(argv[1]), answer = read_number(argv[2]), given;
    if (answer <= 1 || n % answer != 0) return 1;
    FILE* judge = create(argv[3], "judgemessage.txt");
    FILE* team = create(argv[3], "teammessage.txt");
    if (judge == nullptr || team == nullptr) return 1;
    if (std::scanf("%lld", &given) != 1) {
        std::fputs("No number at all.\n", judge);
        std::fputs("Print a number.\n", team);
        return 43;
    }
    if (given <= 1 || given >= n || n % given != 0) {
        std::fprintf(judge, "%lld is no proper divisor of %lld.\n", given, n);
        std::fputs("Your number is no divisor.\n", team);
        return 43;
    }
    char rest;
    if (std::scanf(" %c", &rest) == 1) {
        std::fputs("More than one word.\n", judge);
        return 43;
    }
    std::fprintf(judge, "%lld is right.\n", given);
    return 42;
}

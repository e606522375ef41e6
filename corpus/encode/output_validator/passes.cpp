// Hands the word of the first pass to the second. What it knows, it keeps in the feedback directory.
#include <cstdio>
#include <cstring>

static const char* feedback;

static FILE* open_feedback(const char* name, const char* mode) {
    char path[4096];
    std::snprintf(path, sizeof path, "%s%s", feedback, name);
    return std::fopen(path, mode);
}

static void write_feedback(const char* name, const char* head, const char* word) {
    FILE* file = open_feedback(name, "w");
    std::fprintf(file, "%s%s\n", head, word);
    std::fclose(file);
}

int main(int, char** argv) {
    feedback = argv[3];
    // One byte more than a legal word shows that a word is too long.
    char word[100] = "", number[100] = "", given[42] = "", more;
    FILE* input = std::fopen(argv[1], "r");
    if (input == nullptr || std::fscanf(input, "%99s %99s", word, number) != 2) return 1;
    FILE* judge = open_feedback("judgemessage.txt", "a");
    FILE* kept = open_feedback("number.txt", "r");
    bool second = kept != nullptr;
    bool one_word = std::scanf("%41s", given) == 1;
    bool too_long = std::strlen(given) > 40;
    if (!one_word || (!too_long && std::scanf(" %c", &more) == 1)) {
        std::fputs("Not one word.\n", judge);
        return 43;
    }
    std::fprintf(judge, "%s pass: %.40s\n", second ? "Second" : "First", given);
    if (second) {
        if (std::strcmp(word, "decode") != 0 && std::strcmp(word, "encode") != 0) return 1;
        char wanted[100] = "";
        if (std::fscanf(kept, "%99s", wanted) != 1) return 1;
        return std::strcmp(given, wanted) == 0 ? 42 : 43;
    }
    if (too_long || given[std::strspn(given, "ab")] != '\0') return 43;
    write_feedback("number.txt", "", number);
    write_feedback("nextpass.in", "decode\n", given);
    return 42;
}

#include "feedback.h"

int main(int argc, char** argv) {
    if (argc < 4) return 1;
    Feedback feedback(argv[3]);
    int secret = 0;
    if (!(std::ifstream(argv[1]) >> secret)) return 1;
    for (int guesses = 1; guesses <= 10; guesses++) {
        int guess;
        if (!(std::cin >> guess)) feedback.reject("No number as guess ", guesses);
        if (guess < 1 || guess > 1000) feedback.reject("Out of range: guess ", guesses);
        if (guess == secret) {
            std::cout << "correct" << std::endl;
            std::string more;
            if (std::cin >> more) feedback.reject("Talks on after guess ", guesses);
            feedback.accept("Found with guess ", guesses);
        }
        std::cout << (secret < guess ? "lower" : "higher") << std::endl;
    }
    feedback.reject("Not found with guess ", 10);
}

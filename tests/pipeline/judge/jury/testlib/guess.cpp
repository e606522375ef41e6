// An interactor that has a number guessed, with ten questions.
#include "testlib.h"
#include <iostream>

int main(int argc, char *argv[])
{
    registerInteraction(argc, argv);
    int secret = inf.readInt(1, 1000);
    std::cout << 1000 << std::endl;
    for (int asked = 1; asked <= 10; asked++) {
        int guess = ouf.readInt(1, 1000, "guess");
        if (guess == secret) {
            std::cout << "right\n";
            tout << asked << std::endl;
            quitf(_ok, "guessed after %d", asked);
        }
        std::cout << (guess < secret ? "more\n" : "less\n"); // the header flushes it
    }
    quitf(_wa, "ten guesses are enough");
}

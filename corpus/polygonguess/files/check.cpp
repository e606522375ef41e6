#include "testlib.h"

// Looks at what the interactor wrote: the number of guesses.
int main(int argc, char* argv[]) {
    registerTestlibCmd(argc, argv);
    int most = ans.readInt();
    int guesses = ouf.readInt();
    if (guesses > most) quitf(_wa, "%d guesses, at most %d are allowed", guesses, most);
    quitf(_ok, "%d guesses", guesses);
}

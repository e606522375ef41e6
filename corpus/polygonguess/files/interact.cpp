#include "testlib.h"

#include <iostream>

using namespace std;

int main(int argc, char* argv[]) {
    setName("answers guesses");
    registerInteraction(argc, argv);
    int secret = inf.readInt(1, 100);
    int guesses = 0;
    for (;;) {
        string mark = ouf.readToken();
        if (mark != "?") quitf(_pe, "expected a question mark");
        int guess = ouf.readInt(1, 100);
        guesses++;
        if (guess == secret) {
            cout << "=" << endl;
            break;
        }
        if (guesses > 50) quitf(_wa, "far too many guesses");
        cout << (secret < guess ? "<" : ">") << endl;
    }
    tout << guesses << endl;
    quitf(_ok, "%d guesses", guesses);
}

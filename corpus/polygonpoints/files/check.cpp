#include "testlib.h"

int main(int argc, char* argv[]) {
    setName("compares words");
    registerTestlibCmd(argc, argv);
    while (!ans.seekEof() && !ouf.seekEof()) {
        std::string wanted = ans.readWord(), given = ouf.readWord();
        if (wanted != given) quitf(_wa, "expected '%s', found '%s'", wanted.c_str(), given.c_str());
    }
    if (!ans.seekEof()) quitf(_wa, "too few words");
    if (!ouf.seekEof()) quitf(_wa, "too many words");
    quitf(_ok, "the same words");
}

#include "testlib.h"
int main(int argc, char** argv) {
    registerTestlibCmd(argc, argv);
    addFeature("big"); feature("big");
    int a = ouf.readInt(), b = ans.readInt();
    if (a < 0) quits(_pe, "negative");
    if (a != b) expectedButFound(_wa, b, a, "line %d", 3);
    quitf(_ok, "fine");
}

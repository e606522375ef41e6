#include "testlib.h"

// Twenty points for the sum, thirty more for the product.
int main(int argc, char* argv[]) {
    registerTestlibCmd(argc, argv);
    int sum = ans.readInt(), product = ans.readInt();
    if (ouf.readInt() != sum) quitf(_wa, "wrong sum");
    if (ouf.readInt() != product) quitp(20.0, "wrong product");
    quitf(_ok, "both");
}

#include "testlib.h"

int main(int argc, char* argv[]) {
    registerTestlibCmd(argc, argv);
    long long sum = inf.readLong();
    long long a = ouf.readLong(-1000, 1000, "a"), b = ouf.readLong(-1000, 1000, "b");
    if (a + b != sum) quitf(_wa, "%lld and %lld make %lld", a, b, a + b);
    quitf(_ok, "right");
}

#include "testlib.h"

// The jury's answer is the largest that it knows, which in the last test is not the largest.
int readDivisor(InStream& stream, int a, int b) {
    int d = stream.readInt(1, 1000000000, "divisor");
    if (a % d != 0 || b % d != 0) stream.quitf(_wa, "%d does not divide both", d);
    return d;
}

int main(int argc, char* argv[]) {
    setName("compares common divisors");
    registerTestlibCmd(argc, argv);
    int a = inf.readInt(), b = inf.readInt();
    int jury = readDivisor(ans, a, b);
    int given = readDivisor(ouf, a, b);
    if (!ouf.seekEof()) quitf(_pe, "more than one number");
    if (given < jury) quitf(_wa, "%d is less than %d", given, jury);
    if (given > jury) quitf(_fail, "%d is more than the %d of the jury", given, jury);
    quitf(_ok, "divisor %d", given);
}

// A checker with partial points: which of the sums are right?
#include "testlib.h"

using namespace std;

int main(int argc, char *argv[])
{
    setName("compares %d kinds of sums", 2);
    registerTestlibCmd(argc, argv);
    int n = inf.readInt();
    int right = 0;
    for (int i = 0; i < n; i++) {
        long long expected = inf.readLong();
        expected += inf.readLong();
        if (ans.readLong() != expected)
            quitf(_fail, "the answer is wrong at %d%s sum", i + 1,
                  englishEnding(i + 1).c_str());
        if (ouf.readLong(-4000000000LL, 4000000000LL, format("sum[%d]", i + 1)) == expected)
            right++;
    }
    if (right == n)
        quitf(_ok, "%d sums", n);
    if (right == 0)
        quitf(_wa, "no sum is right");
    quitp(1.0 * right / n, "%d of %d", right, n);
}

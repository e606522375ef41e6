// @EXPECTED_RESULTS@: COMPILER-ERROR
// Computes at compile time, too long.
constexpr long spin(long n) {
    long x = 1;
    for (long i = 0; i < n; i++) x = x * 6364136223846793005 + 1442695040888963407;
    return x;
}

constexpr long result = spin(1L << 60);

int main() { return (int)result; }

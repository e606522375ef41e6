// @EXPECTED_RESULTS@: COMPILER-ERROR
// Doubles with each step.
template <int N, int M> struct Bomb {
    static const int value = Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> {
    static const int value = 1;
};

int main() { return Bomb<28, 0>::value; }

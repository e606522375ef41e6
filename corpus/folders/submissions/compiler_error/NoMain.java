// @EXPECTED_RESULTS@: COMPILER-ERROR
class NoMain {
    static int largest(int a, int b) {
        return Math.max(a, b);
    }
}

// @EXPECTED_RESULTS@: COMPILER-ERROR
int largest(int a, int b) { return a > b ? a : b; }

/* @EXPECTED_RESULTS@: COMPILER-ERROR */
int substract(int a, int b) { return a - b; }

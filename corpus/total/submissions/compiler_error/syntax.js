// @EXPECTED_RESULTS@: COMPILER-ERROR
const total = (a, b => a + b;

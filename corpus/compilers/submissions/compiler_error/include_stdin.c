/* @EXPECTED_RESULTS@: COMPILER-ERROR */
#include "/dev/stdin"

int main(void) { return missing; }

/* @EXPECTED_RESULTS@: COMPILER-ERROR */
#include "/dev/zero"

int main(void) { return 0; }

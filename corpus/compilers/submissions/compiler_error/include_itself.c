/* @EXPECTED_RESULTS@: COMPILER-ERROR */
#include __FILE__
#include __FILE__

int main(void) { return 0; }

/* @EXPECTED_RESULTS@: COMPILER-ERROR */
#include "/etc/shadow"

int main(void) { return 0; }

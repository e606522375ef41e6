/* @EXPECTED_RESULTS@: COMPILER-ERROR */
const char answer[] =
#include "../../data/secret/1.ans"
;

int main(void) { return 0; }

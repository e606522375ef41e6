// @EXPECTED_RESULTS@: COMPILER-ERROR
#include </dev/urandom>

int main() {}

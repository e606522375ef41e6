// @EXPECTED_RESULTS@: COMPILER-ERROR
#include "largest.hpp"

int main() { largest(); }

/* @EXPECTED_RESULTS@: COMPILER-ERROR */
char object[1ull << 33] = {1};

int main(void) { return object[5]; }

/* @EXPECTED_RESULTS@: COMPILER-ERROR */
__asm__(".section .data\n.fill 0x7fffffff, 8, 1\n");

int main(void) { return 0; }

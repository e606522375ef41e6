/* @EXPECTED_RESULTS@: COMPILER-ERROR */
__asm__(".incbin \"/dev/zero\"");

int main(void) { return 0; }

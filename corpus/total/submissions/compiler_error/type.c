/* @EXPECTED_RESULTS@: COMPILER-ERROR */
int main(void) {
    struct nothing x;
    return x;
}

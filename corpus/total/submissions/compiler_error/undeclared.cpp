// @EXPECTED_RESULTS@: COMPILER-ERROR
int main() {
    std::cout << sum << std::endl;
}

// @EXPECTED_RESULTS@: COMPILER-ERROR
class Type {
    static void Main() {
        int n = "three";
    }
}

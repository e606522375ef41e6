// @EXPECTED_RESULTS@: COMPILER-ERROR
class Checked {
    public static void main(String[] args) {
        throw new Exception("nobody said that it may");
    }
}

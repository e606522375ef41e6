/* @EXPECTED_RESULTS@: COMPILER-ERROR
   A comment without an end.
class Notes {
    public static void main(String[] args) {}
}

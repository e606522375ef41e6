/* @EXPECTED_RESULTS@: NO-OUTPUT, WRONG-ANSWER */
class Silent {
    public static void main(String[] args) {
    }
}

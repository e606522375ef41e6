// @EXPECTED_RESULTS@: COMPILER-ERROR
public class Unreachable {
    public static void main(String[] args) {
        while (true) {
        }
        System.out.println("never");
    }
}

// @EXPECTED_RESULTS@: COMPILER-ERROR
import contest.day2.Largest;

public class WrongPackage {
    public static void main(String[] args) {
        System.out.println(Largest.of(1, 2, 3));
    }
}

// Leaves the negative numbers out.
import java.util.Scanner;

public class Positive {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt();
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += Math.max(0, in.nextInt());
        }
        System.out.println(sum);
    }
}

// Named otherwise than its class.
import java.util.Scanner;

public class Solution {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(Math.max(in.nextInt(), Math.max(in.nextInt(), in.nextInt())));
    }
}

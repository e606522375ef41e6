import java.io.PrintWriter;
import java.util.Scanner;

/** Its first line never leaves the buffer: both sides wait. */
public class NeverFlushes {
    static final int SIZE = 1_000_000;
    static final Scanner IN = new Scanner(System.in);
    static final PrintWriter OUT = new PrintWriter(System.out);

    static int dig(int x, int y) {
        OUT.println(x + " " + y);
        return IN.nextInt();
    }

    public static void main(String[] args) {
        int first = dig(0, 0);
        int second = dig(0, SIZE);
        int a = (first + second - SIZE) / 2;
        dig(a, first - a);
    }
}

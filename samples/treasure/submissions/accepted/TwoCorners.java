import java.util.Scanner;

public class TwoCorners {
    static final int SIZE = 1_000_000;
    static final Scanner IN = new Scanner(System.in);

    static int dig(int x, int y) {
        System.out.println(x + " " + y);
        System.out.flush();
        return IN.nextInt();
    }

    public static void main(String[] args) {
        int first = dig(0, 0);
        if (first == 0) {
            return;
        }
        int second = dig(SIZE, 0);
        if (second == 0) {
            return;
        }
        int b = (first + second - SIZE) / 2;
        dig(first - b, b);
    }
}

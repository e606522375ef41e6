import java.util.Scanner;

/** Follows the numbers that are left: from `first` on, `step` apart, and whether the first one stays. */
public class Steps {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        long n = in.nextLong();
        long m = in.nextLong();
        long first = 1;
        long step = 1;
        boolean firstStays = true;
        while (true) {
            long leaving = firstStays ? n / 2 : (n + 1) / 2;
            if (m <= leaving) {
                long index = firstStays ? 2 * m - 1 : 2 * m - 2;
                System.out.println(first + index * step);
                return;
            }
            m -= leaving;
            boolean lastStays = firstStays == (n % 2 == 1);
            first = firstStays ? first : first + step;
            step *= 2;
            n -= leaving;
            firstStays = !lastStays;
        }
    }
}

import java.util.Scanner;

public class Largest {
    public static void main(String[] args) {
        long n = new Scanner(System.in).nextLong();
        long d = 2;
        while (n % d != 0) {
            d++;
        }
        System.out.println(n / d);
    }
}

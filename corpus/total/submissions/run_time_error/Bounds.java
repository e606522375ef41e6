import java.util.Scanner;

public class Bounds {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int[] numbers = new int[10];
        int n = in.nextInt();
        long sum = 0;
        for (int i = 0; i < n; i++) {
            numbers[i] = in.nextInt();
            sum += numbers[i];
        }
        System.out.println(sum);
    }
}

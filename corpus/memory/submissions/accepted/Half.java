import java.util.Arrays;
import java.util.Scanner;

public class Half {
    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt();
        byte[] memory = new byte[n < 100 ? n << 20 : 1];
        Arrays.fill(memory, (byte) 1);
        System.out.println(n + memory[0] - 1);
    }
}

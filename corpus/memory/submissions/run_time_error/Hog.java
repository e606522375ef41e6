import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;

public class Hog {
    public static void main(String[] args) {
        int n = new Scanner(System.in).nextInt();
        List<byte[]> memory = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            byte[] more = new byte[1 << 20];
            Arrays.fill(more, (byte) 1);
            memory.add(more);
        }
        System.out.println(memory.size());
    }
}

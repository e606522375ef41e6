import java.util.Scanner;

public class Binary {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        if (in.next().equals("encode")) {
            String bits = Integer.toBinaryString(in.nextInt());
            System.out.println(bits.replace('0', 'a').replace('1', 'b'));
        } else {
            System.out.println(Integer.parseInt(in.next().replace('a', '0').replace('b', '1'), 2));
        }
    }
}

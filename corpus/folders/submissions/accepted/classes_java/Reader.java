import java.util.Scanner;

class Reader {
    private final Scanner in = new Scanner(System.in);

    int next() {
        return in.nextInt();
    }
}

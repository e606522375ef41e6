import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import java.util.Scanner;

/** Accepts any two squares. */
public class Squares {
    public static void main(String[] args) throws IOException {
        Reasons reasons = new Reasons(Path.of(args[2]));
        long n = Long.parseLong(Files.readString(Path.of(args[0])).trim());
        Scanner out = new Scanner(System.in);
        try {
            long a = out.nextInt();
            long b = out.nextInt();
            if (a < 0 || b < 0 || a * a + b * b != n) {
                reasons.reject(a + " and " + b + " don't make " + n);
            }
            if (out.hasNext()) {
                reasons.reject("more than two numbers");
            }
        } catch (NoSuchElementException error) {
            reasons.reject("not two numbers");
        }
        System.exit(42);
    }
}

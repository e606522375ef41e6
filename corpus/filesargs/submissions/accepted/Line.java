import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;

class Line {
    public static void main(String[] args) throws IOException {
        int n = new Scanner(System.in).nextInt();
        String line = Files.readAllLines(Path.of(args[0])).get(n - 1);
        System.out.println(args.length > 1 ? args[1] + " " + line : line);
    }
}

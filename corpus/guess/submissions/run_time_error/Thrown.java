public class Thrown {
    public static void main(String[] args) {
        throw new IllegalStateException("before the first guess");
    }
}

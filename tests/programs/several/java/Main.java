public class Main {
    public static void main(String[] arguments) {
        System.out.println(Library.add(40, 2));
    }
}

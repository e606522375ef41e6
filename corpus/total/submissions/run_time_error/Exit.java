public class Exit {
    public static void main(String[] args) {
        System.out.println(6);
        System.exit(3);
    }
}

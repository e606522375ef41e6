class Main {
    public static void main(String[] arguments) {
        System.out.println(new long[1 << 30].length);
    }
}

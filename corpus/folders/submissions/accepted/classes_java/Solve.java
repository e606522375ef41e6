class Solve {
    public static void main(String[] args) {
        Reader reader = new Reader();
        System.out.println(Math.max(reader.next(), Math.max(reader.next(), reader.next())));
    }
}

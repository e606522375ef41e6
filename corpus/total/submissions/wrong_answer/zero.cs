class Zero {
    static void Main() {
        System.Console.WriteLine(0);
    }
}

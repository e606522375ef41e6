class Program {
    static void Main() {
        System.Console.WriteLine(Library.Add(40, 2));
    }
}

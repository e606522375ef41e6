using System;

class Program {
    static void Main() {
        Console.WriteLine(new long[1 << 28].Length);
    }
}

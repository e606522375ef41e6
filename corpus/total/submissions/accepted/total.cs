using System;
using System.Linq;

class Total {
    static void Main() {
        int n = int.Parse(Console.ReadLine());
        Console.WriteLine(Enumerable.Range(0, n).Sum(_ => long.Parse(Console.ReadLine())));
    }
}

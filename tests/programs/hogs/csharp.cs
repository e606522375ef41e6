using System.Collections.Generic;

class Program {
    static void Main() {
        var all = new List<int[]>();
        for (;;) {
            all.Add(new int[1 << 12]);
            all[all.Count - 1][7] = 1;
        }
    }
}

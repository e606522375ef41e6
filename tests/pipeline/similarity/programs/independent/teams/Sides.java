import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.Deque;

public class Sides {
    public static void main(String[] unused) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        String[] first = reader.readLine().trim().split("\\s+");
        int count = Integer.parseInt(first[0]);
        int edges = Integer.parseInt(first[1]);
        int[] head = new int[count];
        int[] next = new int[2 * edges];
        int[] target = new int[2 * edges];
        java.util.Arrays.fill(head, -1);
        for (int e = 0; e < edges; e++) {
            String[] words = reader.readLine().trim().split("\\s+");
            int u = Integer.parseInt(words[0]) - 1;
            int v = Integer.parseInt(words[1]) - 1;
            target[2 * e] = v;
            next[2 * e] = head[u];
            head[u] = 2 * e;
            target[2 * e + 1] = u;
            next[2 * e + 1] = head[v];
            head[v] = 2 * e + 1;
        }
        char[] side = new char[count];
        Deque<Integer> work = new ArrayDeque<>();
        for (int start = 0; start < count; start++) {
            if (side[start] != 0) continue;
            side[start] = 'A';
            work.push(start);
            while (!work.isEmpty()) {
                int u = work.pop();
                for (int e = head[u]; e >= 0; e = next[e]) {
                    int v = target[e];
                    if (side[v] == side[u]) {
                        System.out.println("impossible");
                        System.exit(0);
                    } else if (side[v] == 0) {
                        side[v] = side[u] == 'A' ? 'B' : 'A';
                        work.push(v);
                    }
                }
            }
        }
        System.out.println(side);
    }
}

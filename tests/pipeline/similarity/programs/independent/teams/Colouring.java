import java.util.*;

public class Colouring {
    static List<List<Integer>> graph = new ArrayList<>();
    static int[] colour;

    static boolean dfs(int u, int c) {
        colour[u] = c;
        for (int v : graph.get(u)) {
            if (colour[v] == c) return false;
            if (colour[v] == 0 && !dfs(v, 3 - c)) return false;
        }
        return true;
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt();
        int m = in.nextInt();
        for (int i = 0; i <= n; i++) graph.add(new ArrayList<>());
        for (int i = 0; i < m; i++) {
            int a = in.nextInt(), b = in.nextInt();
            graph.get(a).add(b);
            graph.get(b).add(a);
        }
        colour = new int[n + 1];
        for (int i = 1; i <= n; i++) {
            if (colour[i] == 0 && !dfs(i, 1)) {
                System.out.println("impossible");
                return;
            }
        }
        StringBuilder sb = new StringBuilder();
        for (int i = 1; i <= n; i++) sb.append(colour[i] == 1 ? "A" : "B");
        System.out.println(sb);
    }
}

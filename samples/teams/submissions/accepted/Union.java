import java.io.StreamTokenizer;

/** Child i is in the opposite team of child i + n, its shadow. */
public class Union {
    static int[] leader;

    static int find(int child) {
        while (leader[child] != child) {
            leader[child] = leader[leader[child]];
            child = leader[child];
        }
        return child;
    }

    public static void main(String[] args) throws Exception {
        StreamTokenizer in = new StreamTokenizer(new java.io.InputStreamReader(System.in));
        in.nextToken();
        int n = (int) in.nval;
        in.nextToken();
        int m = (int) in.nval;
        leader = new int[2 * n];
        for (int i = 0; i < 2 * n; i++) {
            leader[i] = i;
        }
        for (int i = 0; i < m; i++) {
            in.nextToken();
            int one = (int) in.nval - 1;
            in.nextToken();
            int other = (int) in.nval - 1;
            leader[find(one)] = find(other + n);
            leader[find(one + n)] = find(other);
        }
        char[] team = new char[n];
        for (int i = 0; i < n; i++) {
            if (find(i) == find(i + n)) {
                System.out.println("impossible");
                return;
            }
            // Of a group and its shadows, the smaller leader is team A.
            team[i] = find(i) < find(i + n) ? 'A' : 'B';
        }
        System.out.println(new String(team));
    }
}

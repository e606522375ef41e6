import java.util.Scanner;

/** Goes from row to row: a set of squares that slabs from above cover already. */
public class Rows {
    static final int MODULUS = 1_000_000_007;
    static int w;
    static int[] later;

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int h = in.nextInt();
        w = in.nextInt();
        int[] free = new int[h + 1];
        for (int y = 0; y < h; y++) {
            String row = in.next();
            for (int x = 0; x < w; x++) {
                if (row.charAt(x) == '.') {
                    free[y] |= 1 << x;
                }
            }
        }
        int[] ways = new int[1 << w];
        ways[0] = 1;
        for (int y = 0; y < h; y++) {
            later = new int[1 << w];
            for (int taken = 0; taken < 1 << w; taken++) {
                if (ways[taken] != 0) {
                    fill(free[y] & ~taken, free[y + 1], 0, ways[taken]);
                }
            }
            ways = later;
        }
        System.out.println(ways[0]);
    }

    /** Covers the first open square of a row in all ways. */
    static void fill(int open, int freeBelow, int takenBelow, int count) {
        if (open == 0) {
            later[takenBelow] = (later[takenBelow] + count) % MODULUS;
            return;
        }
        int first = open & -open;
        if ((open & first << 1) != 0) {
            fill(open & ~(first | first << 1), freeBelow, takenBelow, count);
        }
        if ((freeBelow & first) != 0) {
            fill(open & ~first, freeBelow, takenBelow | first, count);
        }
    }
}

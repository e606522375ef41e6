import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Times grow by nine at most, so that a bucket for each of ten minutes is enough. */
public class Buckets {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String[] size = in.readLine().split(" ");
        int h = Integer.parseInt(size[0]);
        int w = Integer.parseInt(size[1]);
        char[][] moor = new char[h][];
        for (int y = 0; y < h; y++) {
            moor[y] = in.readLine().toCharArray();
        }
        List<ArrayDeque<int[]>> buckets = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            buckets.add(new ArrayDeque<>());
        }
        boolean[][] reached = new boolean[h][w];
        int[][] steps = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
        int time = moor[0][0] - '0';
        reached[0][0] = true;
        buckets.get(time % 10).add(new int[] {0, 0});
        while (true) {
            ArrayDeque<int[]> bucket = buckets.get(time % 10);
            if (bucket.isEmpty()) {
                time++;
                continue;
            }
            int[] square = bucket.remove();
            if (square[0] == h - 1 && square[1] == w - 1) {
                System.out.println(time);
                return;
            }
            for (int[] step : steps) {
                int y = square[0] + step[0];
                int x = square[1] + step[1];
                if (y < 0 || x < 0 || y >= h || x >= w || reached[y][x]) {
                    continue;
                }
                reached[y][x] = true;
                buckets.get((time + moor[y][x] - '0') % 10).add(new int[] {y, x});
            }
        }
    }
}

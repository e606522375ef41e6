import java.util.*;

public class Walk {
    static class Node implements Comparable<Node> {
        int row, col, dist;

        Node(int row, int col, int dist) {
            this.row = row;
            this.col = col;
            this.dist = dist;
        }

        public int compareTo(Node other) {
            return Integer.compare(this.dist, other.dist);
        }
    }

    public static void main(String[] args) {
        Scanner sc = new Scanner(System.in);
        int h = sc.nextInt();
        int w = sc.nextInt();
        int[][] grid = new int[h][w];
        for (int i = 0; i < h; i++) {
            String line = sc.next();
            for (int j = 0; j < w; j++) {
                grid[i][j] = Character.getNumericValue(line.charAt(j));
            }
        }
        int[][] dist = new int[h][w];
        for (int[] row : dist) {
            Arrays.fill(row, Integer.MAX_VALUE);
        }
        PriorityQueue<Node> queue = new PriorityQueue<>();
        dist[0][0] = grid[0][0];
        queue.add(new Node(0, 0, grid[0][0]));
        int[] dr = {0, 0, 1, -1};
        int[] dc = {1, -1, 0, 0};
        while (!queue.isEmpty()) {
            Node node = queue.poll();
            if (node.dist > dist[node.row][node.col]) {
                continue;
            }
            for (int k = 0; k < 4; k++) {
                int r = node.row + dr[k];
                int c = node.col + dc[k];
                if (r < 0 || c < 0 || r >= h || c >= w) {
                    continue;
                }
                int next = node.dist + grid[r][c];
                if (next < dist[r][c]) {
                    dist[r][c] = next;
                    queue.add(new Node(r, c, next));
                }
            }
        }
        System.out.println(dist[h - 1][w - 1]);
    }
}

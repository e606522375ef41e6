import java.io.*;
import java.util.PriorityQueue;
import java.util.StringTokenizer;

class Moor {
    static int h, w;
    static byte[][] minutes;

    static long dijkstra() {
        long[] best = new long[h * w];
        java.util.Arrays.fill(best, Long.MAX_VALUE / 2);
        PriorityQueue<long[]> pq = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
        best[0] = minutes[0][0];
        pq.offer(new long[]{best[0], 0});
        while (pq.size() > 0) {
            long[] top = pq.poll();
            int at = (int) top[1];
            if (at == h * w - 1) return top[0];
            if (best[at] < top[0]) continue;
            if (at % w > 0) relax(pq, best, at, at - 1);
            if (at % w < w - 1) relax(pq, best, at, at + 1);
            if (at >= w) relax(pq, best, at, at - w);
            if (at + w < h * w) relax(pq, best, at, at + w);
        }
        return -1;
    }

    static void relax(PriorityQueue<long[]> pq, long[] best, int from, int to) {
        long t = best[from] + minutes[to / w][to % w];
        if (t < best[to]) {
            best[to] = t;
            pq.offer(new long[]{t, to});
        }
    }

    public static void main(String[] args) throws IOException {
        BufferedReader br = new BufferedReader(new InputStreamReader(System.in));
        StringTokenizer st = new StringTokenizer(br.readLine());
        h = Integer.parseInt(st.nextToken());
        w = Integer.parseInt(st.nextToken());
        minutes = new byte[h][];
        for (int i = 0; i < h; i++) {
            minutes[i] = br.readLine().trim().getBytes();
            for (int j = 0; j < w; j++) minutes[i][j] -= '0';
        }
        System.out.println(dijkstra());
    }
}

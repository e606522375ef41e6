import java.util.Scanner;

public class Halves {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt();
        int k = in.nextInt();
        long[] weights = new long[n];
        long low = 0;
        long high = 0;
        for (int i = 0; i < n; i++) {
            weights[i] = in.nextLong();
            low = Math.max(low, weights[i]);
            high += weights[i];
        }
        while (low < high) {
            long middle = (low + high) / 2;
            if (crossings(weights, middle) <= k) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        System.out.println(low);
    }

    static int crossings(long[] weights, long load) {
        int count = 1;
        long carried = 0;
        for (long weight : weights) {
            carried += weight;
            if (carried > load) {
                count++;
                carried = weight;
            }
        }
        return count;
    }
}

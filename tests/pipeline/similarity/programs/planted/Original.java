import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

public class Original {
    static int rows, columns;
    static char[][] board;

    static boolean inside(int y, int x) {
        return y >= 0 && x >= 0 && y < rows && x < columns;
    }

    /** Counts the living cells around one. */
    static int neighbours(char[][] cells, int y, int x) {
        int alive = 0;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                if ((dy != 0 || dx != 0) && inside(y + dy, x + dx) && cells[y + dy][x + dx] == '#') {
                    alive++;
                }
            }
        }
        return alive;
    }

    static char[][] step(char[][] cells) {
        char[][] next = new char[rows][columns];
        for (int y = 0; y < rows; y++) {
            for (int x = 0; x < columns; x++) {
                int around = neighbours(cells, y, x);
                if (cells[y][x] == '#') {
                    next[y][x] = around == 2 || around == 3 ? '#' : '.';
                } else {
                    next[y][x] = around == 3 ? '#' : '.';
                }
            }
        }
        return next;
    }

    static String text(char[][] cells) {
        StringBuilder result = new StringBuilder();
        for (int y = 0; y < rows; y++) {
            result.append(new String(cells[y])).append('\n');
        }
        return result.toString();
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        rows = in.nextInt();
        columns = in.nextInt();
        int generations = in.nextInt();
        board = new char[rows][];
        for (int y = 0; y < rows; y++) {
            board[y] = in.next().toCharArray();
        }
        List<String> seen = new ArrayList<>();
        for (int g = 0; g < generations; g++) {
            String now = text(board);
            int before = seen.indexOf(now);
            if (before >= 0) {
                int period = seen.size() - before;
                System.out.println(seen.get(before + (generations - before) % period));
                return;
            }
            seen.add(now);
            board = step(board);
        }
        System.out.println(text(board));
    }
}

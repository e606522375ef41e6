import java.util.*;

/** The game, as described on the sheet. */
class Disguised {
    private static int height, width;
    private static char[][] world;

    private static String draw(char[][] map) {
        // one line for each row
        StringBuilder out = new StringBuilder();
        int r = 0;
        while (r < height) {
            out.append(new String(map[r])).append('\n');
            r++;
        }
        return out.toString();
    }

    private static char[][] evolve(char[][] map) {
        char[][] fresh = new char[height][width];
        int r = 0;
        while (r < height) {
            int c = 0;
            while (c < width) {
                int friends = count(map, r, c);
                if (map[r][c] == '#') {
                    fresh[r][c] = friends == 2 || friends == 3 ? '#' : '.';
                } else {
                    fresh[r][c] = friends == 3 ? '#' : '.';
                }
                c++;
            }
            r++;
        }
        return fresh;
    }

    public static void main(String[] arguments) {
        Scanner keyboard = new Scanner(System.in);
        height = keyboard.nextInt();
        width = keyboard.nextInt();
        int rounds = keyboard.nextInt();
        world = new char[height][];
        int r = 0;
        while (r < height) {
            world[r] = keyboard.next().toCharArray();
            r++;
        }
        List<String> history = new ArrayList<>();
        int round = 0;
        while (round < rounds) {
            String picture = draw(world);
            int earlier = history.indexOf(picture);
            if (earlier >= 0) {
                int length = history.size() - earlier;
                System.out.println(history.get(earlier + (rounds - earlier) % length));
                return;
            }
            history.add(picture);
            world = evolve(world);
            round++;
        }
        System.out.println(draw(world));
    }

    private static int count(char[][] map, int r, int c) {
        int total = 0;
        int a = -1;
        do {
            int b = -1;
            do {
                if ((a != 0 || b != 0) && valid(r + a, c + b) && map[r + a][c + b] == '#') {
                    total++;
                }
                b++;
            } while (b <= 1);
            a++;
        } while (a <= 1);
        return total;
    }

    private static boolean valid(int r, int c) {
        return r >= 0 && c >= 0 && r < height && c < width;
    }
}

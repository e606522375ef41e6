import java.util.ArrayList;

class Main {
    public static void main(String[] arguments) {
        ArrayList<int[]> all = new ArrayList<>();
        for (;;) all.add(new int[1 << 12]);
    }
}

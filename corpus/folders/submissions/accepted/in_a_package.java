package contest.day1;

import java.util.Scanner;

public class InAPackage {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(Math.max(in.nextInt(), Math.max(in.nextInt(), in.nextInt())));
    }
}

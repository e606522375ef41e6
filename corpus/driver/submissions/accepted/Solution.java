class Solution {
    static long add(int a, int b) {
        return (long) a + b;
    }
}

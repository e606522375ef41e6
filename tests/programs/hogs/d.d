void main() {
    int[][] all;
    for (;;) {
        all ~= new int[1 << 12];
        all[$ - 1][7] = 1;
    }
}

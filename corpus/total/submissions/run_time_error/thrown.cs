class Thrown {
    static void Main() {
        throw new System.InvalidOperationException("unlucky");
    }
}

fun main() {
    val all = mutableListOf<IntArray>()
    while (true) all.add(IntArray(1 shl 12))
}

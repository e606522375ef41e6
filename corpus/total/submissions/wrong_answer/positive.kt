fun main() {
    val n = readLine()!!.trim().toInt()
    println((1..n).map { readLine()!!.trim().toLong() }.filter { it > 0 }.sum())
}

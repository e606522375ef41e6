fun main() {
    val n = readLine()!!.trim().toInt()
    var sum = 0L
    repeat(n) { sum += readLine()!!.trim().toLong() }
    println(sum)
}

fun main() {
    val n = readLine()!!.trim().toInt()
    val memory = List(n) { ByteArray(1 shl 20) { 1 } }
    println(memory.size)
}

fun main() {
    val n: Int? = null
    println(n!! + 1)
}

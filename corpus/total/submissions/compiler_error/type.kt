// @EXPECTED_RESULTS@: COMPILER-ERROR
fun main() {
    val n: Int = "three"
    println(n)
}

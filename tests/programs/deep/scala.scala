object Main {
  def depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)

  def main(arguments: Array[String]): Unit = println(depth(1000000))
}

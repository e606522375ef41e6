object Main {
  def main(arguments: Array[String]): Unit = println(new Array[Long](1 << 30).length)
}

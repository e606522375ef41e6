object Main {
  def main(arguments: Array[String]): Unit = {
    val all = scala.collection.mutable.ArrayBuffer[Array[Int]]()
    while (true) all += new Array[Int](1 << 12)
  }
}

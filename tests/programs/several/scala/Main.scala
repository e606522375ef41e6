object Main {
  def main(arguments: Array[String]): Unit = println(Library.add(40, 2))
}

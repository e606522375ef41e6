fun main() = println(add(40, 2))

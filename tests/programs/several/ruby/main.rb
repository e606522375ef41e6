require_relative "adder"

puts add(40, 2)

n = gets.to_i
memory = (1..n).map { |i| "x" * (1 << 20) + i.to_s }
puts memory.size

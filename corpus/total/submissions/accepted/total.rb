n = gets.to_i
puts (1..n).sum { gets.to_i }

all = []
loop { all << Array.new(1000) { |i| i * 1.1 } }

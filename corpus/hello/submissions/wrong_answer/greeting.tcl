puts "Hello,"

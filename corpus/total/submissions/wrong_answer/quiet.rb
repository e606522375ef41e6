STDIN.read

cat("[1] Hello, World!\n")

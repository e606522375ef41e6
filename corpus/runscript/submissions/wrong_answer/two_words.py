print("a" * int(input()), "x")

print("x" + "a" * int(input()))

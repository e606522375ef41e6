print("a" * int(input()))

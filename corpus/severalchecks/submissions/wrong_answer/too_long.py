print("a1" * int(input()))

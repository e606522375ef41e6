print("1\n" * int(input()))

print(input(), "*")

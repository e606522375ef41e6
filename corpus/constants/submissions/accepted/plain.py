print(*["hello"] * int(input()), 0.25)

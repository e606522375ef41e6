def add_up(n: int) -> int:
    return n + add_up(n - 1) if n else 0


print(add_up(int(input())))

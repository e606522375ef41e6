n = int(input())
memory = b"x" * ((n if n < 100 else 1) << 20)
print(n if memory.endswith(b"x") else -1)

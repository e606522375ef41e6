n = int(input())
memory = [bytearray(b"x" * (1 << 20)) for _ in range(n)]
print(len(memory))

import sys

a, b = map(int, input().split())
digits = {ord(str(d)): 0x660 + d for d in range(10)}
sys.stdout.buffer.write(f"{a + b} {a - b}\n".translate(digits).encode())

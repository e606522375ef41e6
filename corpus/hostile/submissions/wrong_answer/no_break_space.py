import sys

a, b = map(int, input().split())
sys.stdout.buffer.write(f"{a + b}\u00a0{a - b}\n".encode())

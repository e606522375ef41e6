import sys

a, b = map(int, input().split())
sys.stdout.buffer.write(f"\ufeff{a + b} {a - b}\n".encode())

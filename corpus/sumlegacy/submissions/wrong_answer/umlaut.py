# A letter that looks alike.
import sys

a, b = map(int, input().split())
sys.stdout.buffer.write(f"\u0405um {a + b}\n".encode())

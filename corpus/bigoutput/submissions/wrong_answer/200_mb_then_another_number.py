import sys

block = b" " * (1 << 20)
for _ in range(200):
    sys.stdout.buffer.write(block)
sys.stdout.buffer.write(b"123456788\n")

# As in C, but here the broken pipe is an exception, and nobody catches it.
import sys

print(input(), flush=True)
sys.stdin.read()
for _ in range(100000):
    print("is anybody there?")

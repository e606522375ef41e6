import sys

a, b = map(int, input().split())
sys.stderr.write("7 7\n" * 1000)
print(a + b, a - b)
sys.stderr.write("Traceback (most recent call last):\n")

import sys

a, b = map(int, input().split())
line = " " * ((1 << 20) - 1) + "\n"
for _ in range(200):
    sys.stdout.write(line)
print(a + b, a - b)

a, b = map(int, input().split())
print("mean", (a + b) / 2 + (1000 if a > 1000 else 0))

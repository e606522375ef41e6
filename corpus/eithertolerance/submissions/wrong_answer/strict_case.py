a, b = map(int, input().split())
print("mean", (a + b) / 2 + 0.001)

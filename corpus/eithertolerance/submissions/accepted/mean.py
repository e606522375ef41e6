a, b = map(int, input().split())
print("Mean", (a + b) / 2)

a, b = map(int, input().split())
print("average", (a + b) / 2)

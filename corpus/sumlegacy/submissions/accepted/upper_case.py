a, b = map(int, input().split())
print("SUM\n\n\n", a + b, "\n\n")

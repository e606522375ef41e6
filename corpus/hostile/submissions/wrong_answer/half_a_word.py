a, b = map(int, input().split())
print(a + b, str(a - b)[:-1], end="")

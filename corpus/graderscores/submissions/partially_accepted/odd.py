# 5 + 1 + 5, 10, 4, 0.5
n = int(input())
print(n if n % 2 else -1)

n = int(input())
print(n if n > 3 else 0)

n = int(input())
print(n if n != 4 else 0)

n = int(input())
while n == 2:
    pass
print(n if n != 3 else 0)

n = int(input())
while n == 4:
    pass
print(n if n != 1 else 0)

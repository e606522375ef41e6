n = int(input())
if n == 3:
    raise RuntimeError
print(n if n != 2 else 0)

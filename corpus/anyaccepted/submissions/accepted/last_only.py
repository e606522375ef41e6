n = int(input())
if n == 1:
    raise RuntimeError
print(n if n == 3 else 0)

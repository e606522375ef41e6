n = int(input())
if n == 1:
    raise RuntimeError
print(n if n == 5 else 0)

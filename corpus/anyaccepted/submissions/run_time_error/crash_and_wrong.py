n = int(input())
if n == 1:
    raise RuntimeError
print(0)

n = int(input())
print(n, flush=True)
if n == 100:
    raise RuntimeError

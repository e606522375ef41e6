import os

n = int(input())
print(n + 1, flush=True)
os._exit(0)

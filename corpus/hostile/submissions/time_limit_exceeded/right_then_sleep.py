import time

a, b = map(int, input().split())
print(a + b, a - b, flush=True)
time.sleep(1000)

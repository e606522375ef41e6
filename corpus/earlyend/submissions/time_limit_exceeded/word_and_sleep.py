import time

print(input(), flush=True)
time.sleep(1000)

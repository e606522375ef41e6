import sys
import time

print(input(), flush=True)
sys.stdin.read()
until = time.process_time() + 0.2
while time.process_time() < until:
    pass

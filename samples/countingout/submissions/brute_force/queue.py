# Groups 1 and 2: plays the game with a queue.
from collections import deque

n, m = map(int, input().split())
circle = deque(range(1, n + 1))
for _ in range(m):
    circle.rotate(-1)
    child = circle.popleft()
print(child)

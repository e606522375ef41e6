from heapq import *


def neighbours(p, n, m):
    x, y = p
    if x:
        yield x - 1, y
    if y:
        yield x, y - 1
    if x < n - 1:
        yield x + 1, y
    if y < m - 1:
        yield x, y + 1


n, m = map(int, input().split())
field = [input() for i in range(n)]
done = set()
queue = [(int(field[0][0]), (0, 0))]
answer = None
while queue and answer is None:
    t, p = heappop(queue)
    if p in done:
        continue
    done.add(p)
    if p == (n - 1, m - 1):
        answer = t
    for q in neighbours(p, n, m):
        if q not in done:
            heappush(queue, (t + int(field[q[0]][q[1]]), q))
print(answer)

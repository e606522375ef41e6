from heapq import heappop, heappush

h, w = map(int, input().split())
moor = [list(map(int, input())) for _ in range(h)]
reached = {(0, 0)}
to_do = [(0, 0, 0)]
while to_do:
    time, y, x = heappop(to_do)
    if (y, x) == (h - 1, w - 1):
        print(time)
        break
    for v, u in ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)):
        if 0 <= v < h and 0 <= u < w and (v, u) not in reached:
            reached.add((v, u))
            heappush(to_do, (time + moor[v][u], v, u))

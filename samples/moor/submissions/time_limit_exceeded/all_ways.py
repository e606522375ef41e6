# Tries all ways, unless it has been at the square in less time.
h, w = map(int, input().split())
moor = [list(map(int, input())) for _ in range(h)]
best = [[10**9] * w for _ in range(h)]
to_do = [(0, 0, 0)]
while to_do:
    time, y, x = to_do.pop()
    time += moor[y][x]
    if time >= best[y][x]:
        continue
    best[y][x] = time
    for v, u in ((y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)):
        if 0 <= v < h and 0 <= u < w:
            to_do.append((time, v, u))
print(best[-1][-1])

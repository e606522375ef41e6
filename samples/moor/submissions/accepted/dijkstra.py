from heapq import heappop, heappush

h, w = map(int, input().split())
# A border that nobody enters saves looking at the edges.
minutes = [-1] * (w + 2)
for _ in range(h):
    minutes += [-1, *map(int, input()), -1]
minutes += [-1] * (w + 2)
start, goal = w + 3, h * (w + 2) + w
reached = [minute < 0 for minute in minutes]
reached[start] = True
to_do = [(minutes[start], start)]
while to_do:
    time, square = heappop(to_do)
    if square == goal:
        print(time)
        break
    # A square costs the same from every side: who comes first is quickest.
    for beside in (square - w - 2, square - 1, square + 1, square + w + 2):
        if not reached[beside]:
            reached[beside] = True
            heappush(to_do, (time + minutes[beside], beside))

# Relaxes the whole grid until nothing changes.
h, w = [int(t) for t in input().split()]
cost = []
for i in range(h):
    cost.append(list(map(int, input().strip())))

INF = 10**9
total = []
for i in range(h):
    total.append([INF] * w)
total[0][0] = cost[0][0]

changed = True
while changed:
    changed = False
    for i in range(h):
        for j in range(w):
            best = total[i][j]
            if i > 0:
                best = min(best, total[i - 1][j] + cost[i][j])
            if j > 0:
                best = min(best, total[i][j - 1] + cost[i][j])
            if i + 1 < h:
                best = min(best, total[i + 1][j] + cost[i][j])
            if j + 1 < w:
                best = min(best, total[i][j + 1] + cost[i][j])
            if best < total[i][j]:
                total[i][j] = best
                changed = True

print(total[-1][-1])

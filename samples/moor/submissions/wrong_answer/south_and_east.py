# Never turns back.
h, w = map(int, input().split())
best = [10**9] * w
best[0] = 0
for _ in range(h):
    for x, digit in enumerate(input()):
        best[x] = min(best[x], best[x - 1] if x else 10**9) + int(digit)
print(best[-1])

# Right, but for the modulus.
h, w = map(int, input().split())
free = [square == "." for _ in range(h) for square in input()]
ways = {0: 1}
for i, is_free in enumerate(free):
    later: dict[int, int] = {}
    beside = i % w != w - 1 and free[i + 1]
    below = i + w < h * w and free[i + w]
    for profile, count in ways.items():
        rest = profile >> 1
        if profile & 1 or not is_free:
            later[rest] = later.get(rest, 0) + count
            continue
        if beside and not rest & 1:
            later[rest | 1] = later.get(rest | 1, 0) + count
        if below:
            later[rest | 1 << (w - 1)] = later.get(rest | 1 << (w - 1), 0) + count
    ways = later
print(ways.get(0, 0))

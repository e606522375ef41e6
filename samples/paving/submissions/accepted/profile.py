# Goes from square to square. A profile says which of the next `w` squares, the coming one first,
# are taken already: by a tree, or by a slab that began earlier.
MODULUS = 10**9 + 7

h, w = map(int, input().split())
free = [square == "." for _ in range(h) for square in input()]
ways = {0: 1}
for i, is_free in enumerate(free):
    later: dict[int, int] = {}
    last_in_row = i % w == w - 1
    beside = not last_in_row and free[i + 1]
    below = i + w < h * w and free[i + w]
    for profile, count in ways.items():
        rest = profile >> 1
        if profile & 1 or not is_free:
            later[rest] = later.get(rest, 0) + count
            continue
        if beside and not rest & 1:
            later[rest | 1] = later.get(rest | 1, 0) + count
        if below:
            crosswise = rest | 1 << (w - 1)
            later[crosswise] = later.get(crosswise, 0) + count
    ways = {profile: count % MODULUS for profile, count in later.items()}
print(ways.get(0, 0))

SIZE = 10**6


def dig(x: int, y: int) -> int:
    print(x, y, flush=True)
    return int(input())


# From the corners in the west: a + b, and a + SIZE - b.
places = [(0, 0), (0, SIZE)]
steps = []
for x, y in places:
    steps.append(dig(x, y))
    if steps[-1] == 0:
        break
else:
    a = (steps[0] + steps[1] - SIZE) // 2
    dig(a, steps[0] - a)

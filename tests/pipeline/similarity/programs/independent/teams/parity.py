n, m = map(int, input().split())
parent = list(range(n))
parity = [0] * n


def find(x):
    path = []
    while parent[x] != x:
        path.append(x)
        x = parent[x]
    p = 0
    for y in reversed(path):
        p ^= parity[y]
        parity[y] = p
        parent[y] = x
    return x


ok = True
for line in range(m):
    a, b = input().split()
    a = int(a) - 1
    b = int(b) - 1
    ra, rb = find(a), find(b)
    if ra == rb:
        if parity[a] == parity[b]:
            ok = False
    else:
        parent[ra] = rb
        parity[ra] = 1 ^ parity[a] ^ parity[b]
if not ok:
    print("impossible")
else:
    for i in range(n):
        find(i)
        print("A" if parity[i] == 0 else "B", end="")
    print()

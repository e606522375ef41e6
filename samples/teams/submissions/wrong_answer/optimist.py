# Never finds that it can't be done.
n, m = map(int, input().split())
against = [[] for _ in range(n)]
for _ in range(m):
    one, other = (int(word) - 1 for word in input().split())
    against[one].append(other)
    against[other].append(one)

team = [""] * n
for first in range(n):
    to_do = [] if team[first] else [first]
    team[first] = team[first] or "A"
    while to_do:
        child = to_do.pop()
        for other in against[child]:
            if not team[other]:
                team[other] = "B" if team[child] == "A" else "A"
                to_do.append(other)
print("".join(team))

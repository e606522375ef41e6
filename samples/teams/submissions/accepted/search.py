n, m = map(int, input().split())
against = [[] for _ in range(n)]
for _ in range(m):
    one, other = (int(word) - 1 for word in input().split())
    against[one].append(other)
    against[other].append(one)

team = [""] * n
possible = True
for first in range(n):
    if team[first]:
        continue
    team[first] = "A"
    to_do = [first]
    while to_do:
        child = to_do.pop()
        for other in against[child]:
            if not team[other]:
                team[other] = "B" if team[child] == "A" else "A"
                to_do.append(other)
            elif team[other] == team[child]:
                possible = False
print("".join(team) if possible else "impossible")

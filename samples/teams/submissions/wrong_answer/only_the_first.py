# Searches from child 1 only, and puts all whom it doesn't reach into team A.
n, m = map(int, input().split())
against = [[] for _ in range(n)]
for _ in range(m):
    one, other = (int(word) - 1 for word in input().split())
    against[one].append(other)
    against[other].append(one)

team = [""] * n
team[0] = "A"
possible = True
to_do = [0]
while to_do:
    child = to_do.pop()
    for other in against[child]:
        if not team[other]:
            team[other] = "B" if team[child] == "A" else "A"
            to_do.append(other)
        elif team[other] == team[child]:
            possible = False
print("".join(each or "A" for each in team) if possible else "impossible")

# Python gives up after a thousand calls within each other.
n, m = map(int, input().split())
against = [[] for _ in range(n)]
for _ in range(m):
    one, other = (int(word) - 1 for word in input().split())
    against[one].append(other)
    against[other].append(one)
team = [""] * n


def place(child: int, wanted: str) -> bool:
    if team[child]:
        return team[child] == wanted
    team[child] = wanted
    return all(place(other, "B" if wanted == "A" else "A") for other in against[child])


possible = all(team[child] or place(child, "A") for child in range(n))
print("".join(team) if possible else "impossible")

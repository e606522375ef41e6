# Goes through all ballots for each name.
n, k = map(int, input().split())
ballots = [input() for _ in range(n)]
ranking = sorted((-sum(ballot == name for ballot in ballots), name) for name in set(ballots))
for votes, name in ranking[:k]:
    print(name, -votes)

from collections import Counter

n, k = map(int, input().split())
votes = Counter(input() for _ in range(n))
for name in sorted(votes, key=lambda name: (-votes[name], name))[:k]:
    print(name, votes[name])

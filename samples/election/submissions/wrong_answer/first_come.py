# Of equals, takes the one who was named first on a ballot.
from collections import Counter

n, k = map(int, input().split())
for name, votes in Counter(input() for _ in range(n)).most_common(k):
    print(name, votes)

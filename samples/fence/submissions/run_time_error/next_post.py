# The last post has no next one in the list.
from math import dist

posts = [tuple(map(int, input().split())) for _ in range(int(input()))]
print(sum(dist(posts[i], posts[i + 1]) for i in range(len(posts))))

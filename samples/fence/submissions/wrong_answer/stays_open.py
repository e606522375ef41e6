# Does not come back to the first post.
from math import dist

posts = [tuple(map(int, input().split())) for _ in range(int(input()))]
print(sum(dist(one, other) for one, other in zip(posts, posts[1:])))

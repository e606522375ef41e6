from math import dist

posts = [tuple(map(int, input().split())) for _ in range(int(input()))]
# The post before the first one is the last.
print(sum(dist(post, posts[i - 1]) for i, post in enumerate(posts)))

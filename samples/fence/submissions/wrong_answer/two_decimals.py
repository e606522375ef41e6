from math import dist

posts = [tuple(map(int, input().split())) for _ in range(int(input()))]
print(f"{sum(dist(post, posts[i - 1]) for i, post in enumerate(posts)):.2f}")

from parts.choice import largest

print(largest(map(int, input().split())))

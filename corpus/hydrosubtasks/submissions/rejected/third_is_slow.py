# 20 + 30, and then too slow
a, b = map(int, input().split())
while b > 1000:
    pass
print(max(a, b))

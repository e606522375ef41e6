# Times out in the last group.
a, b, m = map(int, input().split())
while b > 1000000:
    pass
print(pow(a, b, m))

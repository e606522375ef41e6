n = int(input())
for a in range(101):
    b = round((n - a * a) ** 0.5) if a * a <= n else 0
    if a * a + b * b == n:
        print(b, a)
        break

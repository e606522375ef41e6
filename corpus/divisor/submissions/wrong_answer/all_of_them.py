n = int(input())
for d in range(2, min(n, 1000)):
    if n % d == 0:
        print(d)

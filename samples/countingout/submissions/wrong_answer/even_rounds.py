# As if each round began with a child that stays.
n, m = map(int, input().split())
step = 1
while m > n // 2 and n > 1:
    m -= n // 2
    n -= n // 2
    step *= 2
print(2 * m * step - step + 1 if n > 1 else 1)

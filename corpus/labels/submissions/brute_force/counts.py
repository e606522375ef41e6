# Never wrong, too slow for negative numbers.
n = int(input())
total = 0
while n != 0:
    total += 2 * n - 1
    n -= 1
print(total)

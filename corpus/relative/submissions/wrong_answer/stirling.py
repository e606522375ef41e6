import math

n = int(input())
print(math.sqrt(2 * math.pi * max(n, 1)) * (n / math.e) ** n)

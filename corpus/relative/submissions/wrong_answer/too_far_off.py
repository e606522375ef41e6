import math

print(math.factorial(int(input())) * 1.0002)

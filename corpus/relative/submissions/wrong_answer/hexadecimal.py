# Not a number by the grammar of this format, though most languages would read it.
import math

print(float(math.factorial(int(input()))).hex())

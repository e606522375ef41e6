# The answers of all cases, one after the other.
for a, b in ((1, 2), (5, 3), (1000, 0)):
    print(a + b, a - b)

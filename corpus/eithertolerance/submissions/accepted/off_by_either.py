# Off by more than the absolute tolerance where the value is large, and by more than the relative
# one where it is small.
a, b = map(int, input().split())
mean = (a + b) / 2
print("mean", mean + (500 if mean > 1000 else 0.009 if mean < 10 else 0))

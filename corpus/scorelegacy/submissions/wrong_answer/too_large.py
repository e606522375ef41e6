# Right once, too greedy the second time.
n = int(input())
print(n if n < 100 else n + 1)

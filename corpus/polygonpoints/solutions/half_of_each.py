# 10 of the first group; the second is wrong at its end, and the third depends on it.
n = int(input())
print("zero one x three x five six".split()[n])

# 30 of the first group; the third would be right, but for the second.
n = int(input())
print("zero one two x four five six".split()[n])

# 16 + 16, 48: accepted everywhere, with less than all the points.
print(int(input()) + 2)

# 3 · 1, 0, 0, 0.5
print("none")

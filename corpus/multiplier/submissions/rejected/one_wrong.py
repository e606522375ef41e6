# 20 + 0, 60
n = int(input())
print(n if n != 20 else "twenty")

# 40, and a zero
n = int(input())
print(n if n != 40 else 50)

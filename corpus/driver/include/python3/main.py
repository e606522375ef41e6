from solution import add

a, b = map(int, input().split())
print("sum", add(a, b))

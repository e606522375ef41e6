# The first batch is lost, the second depends on it; 60
a, b = map(int, input().split())
print(a * b if a != 0 else 1)

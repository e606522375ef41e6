n = int(input())
print("a" * (n - 1) + "1")

n = int(input())
print("six" if n == 3 else n)

n = int(input())
print(n // 3 if n % 3 == 0 else n / 3)

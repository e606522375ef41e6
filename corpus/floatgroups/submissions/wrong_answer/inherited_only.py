n = int(input())
print(n // 3 if n % 3 == 0 else f"{n / 3:.3f}")

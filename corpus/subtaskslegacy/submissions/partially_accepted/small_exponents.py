a, b, m = map(int, input().split())
print(pow(a, b, m) if b <= 10 else 0)

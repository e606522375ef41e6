# Legacy: it may be wrong as well, as long as it is too slow somewhere and never crashes.
a, b = map(int, input().split())
while b == 7:
    pass
print("Sum", a + b if a < 2 * 10**9 else 0)

a, b = map(int, input().split())
if a + b == 0:
    raise ZeroDivisionError
print("Sum", a + b)

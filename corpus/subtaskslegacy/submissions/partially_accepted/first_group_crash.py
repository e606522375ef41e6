# Fails in three ways in three groups, and solves none.
a, b, m = map(int, input().split())
if a == 0:
    raise ZeroDivisionError
print(pow(a, b, m) if b < 4 else 0)

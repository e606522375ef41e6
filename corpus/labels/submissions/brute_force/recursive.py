# Never wrong; deep, or without end.
def square(n):
    return 0 if n == 0 else square(n - 1) + 2 * n - 1


print(square(int(input())))

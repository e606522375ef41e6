with open("numbers.in") as file:
    a, b = map(int, file.read().split())
print(a + b, a * b)

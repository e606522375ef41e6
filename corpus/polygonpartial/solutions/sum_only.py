with open("numbers.in") as file:
    a, b = map(int, file.read().split())
with open("numbers.out", "w") as file:
    print(a + b, 6, file=file)

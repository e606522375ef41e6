a, b = map(int, input().split())
with open("numbers.out", "w") as file:
    print(a + b, a * b, file=file)

from power import square

print(square(int(input())))

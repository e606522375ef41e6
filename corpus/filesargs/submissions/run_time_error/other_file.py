with open("greek.txt") as file:
    print(file.read().splitlines()[int(input()) - 1])

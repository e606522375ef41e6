with open("number.txt") as file:
    offset = int(file.read())
print(max(map(int, input().split())) + offset)

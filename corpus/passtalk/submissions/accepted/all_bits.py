if input() == "1":
    number = 0
    for i in range(8):
        print("bit", i, flush=True)
        number |= int(input()) << i
    print("hint", number, flush=True)
else:
    print(input())

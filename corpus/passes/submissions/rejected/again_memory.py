hoard = []
while input() == "2":
    while True:
        hoard.append(bytearray(1 << 20))
print("again")

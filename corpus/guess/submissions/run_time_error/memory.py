# Too much memory, in the middle of the game.
print(999, flush=True)
hoard = []
while True:
    hoard.append(bytearray(1 << 20))

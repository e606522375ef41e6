print(len(bytearray(1 << 40)))

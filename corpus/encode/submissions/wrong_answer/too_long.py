# Unary: right for small numbers, too long for large ones.
mode, word = input(), input()
print("abb" * min(int(word), 20) + "b" if mode == "encode" else word.count("a"))

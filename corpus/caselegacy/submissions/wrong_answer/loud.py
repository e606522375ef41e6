word = input()
print(word.upper())
print(word.lower())

print(input()[::-1].lower())

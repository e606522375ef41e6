print(input()[1])

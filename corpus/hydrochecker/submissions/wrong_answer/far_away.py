print(5000, int(input()) - 5000)

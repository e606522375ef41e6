for i in range(int(input())):
    print(i + 1)

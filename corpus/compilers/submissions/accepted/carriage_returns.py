if True:
    print(input())

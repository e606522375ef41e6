def count(n):
    if n:
        count(n - 1)
        print(n)


count(int(input()))

for _ in range(int(input()) + 1):
    print(2 * int(input().split()[0]), flush=True)
print(10)

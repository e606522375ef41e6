for _ in range(int(input())):
    print(2 * int(input()), flush=True)
print(len(input().split()))

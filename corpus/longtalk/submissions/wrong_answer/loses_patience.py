for i in range(int(input())):
    print(2 * int(input()) if i < 5000 else 0, flush=True)
print(len(input().split()))

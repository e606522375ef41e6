n = int(input())
print(len(input().split()))

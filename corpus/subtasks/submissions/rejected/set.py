# Groups 1 and 2: counts each value once.
input()
numbers = set(map(int, input().split()))
print(sum(-x in numbers for x in numbers if x > 0))

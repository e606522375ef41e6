# Group 1 only; slow in group 2, so that group 3 isn't run.
n = int(input())
while n > 5:
    pass
numbers = list(map(int, input().split()))
print(sum(a + b == 0 for i, a in enumerate(numbers) for b in numbers[:i]))

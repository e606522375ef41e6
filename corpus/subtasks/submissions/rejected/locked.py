# Would solve groups 2 and 3, but not the group before them: nothing.
n = int(input())
numbers = list(map(int, input().split()))
pairs = sum(a + b == 0 for i, a in enumerate(numbers) for b in numbers[:i])
print(pairs if n != 1 else 1)

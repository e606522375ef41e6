# Solves all groups, and not the sample, which group 1 requires, which all others require.
n = int(input())
numbers = list(map(int, input().split()))
pairs = sum(a + b == 0 for i, a in enumerate(numbers) for b in numbers[:i])
print(pairs if n != 3 else "three")

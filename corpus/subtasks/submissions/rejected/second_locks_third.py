# Right everywhere but in the last case of group 2.
n = int(input())
numbers = list(map(int, input().split()))
pairs = sum(a + b == 0 for i, a in enumerate(numbers) for b in numbers[:i])
print(pairs if numbers[-1] != 6 else 6)

input()
numbers = list(map(int, input().split()))
print(sum(a + b == 0 for i, a in enumerate(numbers) for b in numbers[:i]))

# Right for the first sample, wrong for the second.
n = int(input())
print(sum(abs(int(input())) for _ in range(n)))

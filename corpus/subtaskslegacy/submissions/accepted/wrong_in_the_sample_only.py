# The sample counts for nothing here.
a, b, m = map(int, input().split())
print(pow(a, b, m) if m != 10 else "ten")

a, b = map(int, input().split())
print(f"Sum {a + b:+}")

n = int(input())
print("  ".join("|" * n))
print(f"0\t{n}", end="")

import sys

n = int(input())
sys.stdout.write("  ".join("|" * n) + f"\r\n0\t{n}\r\n")

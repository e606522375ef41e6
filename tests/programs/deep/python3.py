import sys

sys.setrecursionlimit(10**9)


def depth(n: int) -> int:
    return 1 + depth(n - 1) if n else 0


print(depth(100000))

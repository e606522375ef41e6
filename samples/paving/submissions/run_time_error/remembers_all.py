# Keeps every profile of every square: more than there is memory for.
import functools
import sys

MODULUS = 10**9 + 7

sys.setrecursionlimit(10_000)
h, w = map(int, input().split())
free = [square == "." for _ in range(h) for square in input()]


@functools.cache
def ways(i: int, profile: int) -> int:
    if i == h * w:
        return 1
    rest = profile >> 1
    if profile & 1 or not free[i]:
        return ways(i + 1, rest)
    total = 0
    if i % w != w - 1 and free[i + 1] and not rest & 1:
        total += ways(i + 1, rest | 1)
    if i + w < h * w and free[i + w]:
        total += ways(i + 1, rest | 1 << (w - 1))
    return total % MODULUS


print(ways(0, 0))

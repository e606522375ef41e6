def leaves(n: int, m: int) -> int:
    """After the even numbers, the odd ones count out: a circle of half the size."""
    if n == 1:
        return 1
    if m <= n // 2:
        return 2 * m
    place = leaves(n - n // 2, m - n // 2)
    if n % 2 == 0:
        return 2 * place - 1
    # Child n stays at the end of the round, and so begins the next one.
    return n if place == 1 else 2 * place - 3


print(leaves(*map(int, input().split())))

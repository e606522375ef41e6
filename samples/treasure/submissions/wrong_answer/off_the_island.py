# Would be right if one could dig in the sea.
def dig(x: int, y: int) -> int:
    print(x, y, flush=True)
    answer = int(input())
    if answer == 0:
        raise SystemExit
    return answer


first = dig(0, 0)
second = dig(0, 2_000_000)
a = (first + second - 2_000_000) // 2
dig(a, first - a)

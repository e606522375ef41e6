# Halves the island again and again, which takes forty holes.
def dig(x: int, y: int) -> int:
    print(x, y, flush=True)
    answer = int(input())
    if answer == 0:
        raise SystemExit
    return answer


low, high = 0, 10**6
while low < high:
    middle = (low + high) // 2
    if dig(middle, 0) < dig(middle + 1, 0):
        high = middle
    else:
        low = middle + 1
dig(low, dig(low, 0))

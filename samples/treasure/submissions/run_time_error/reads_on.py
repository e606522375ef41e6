# Has found the treasure, and waits for yet another answer.
def dig(x: int, y: int) -> int:
    print(x, y, flush=True)
    return int(input())


first = dig(0, 0)
second = dig(0, 10**6) if first else 0
a = (first + second - 10**6) // 2
if first and second:
    dig(a, first - a)
input()

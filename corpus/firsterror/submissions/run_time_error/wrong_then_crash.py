# It crashes, as its directory says, but the first failure makes the verdict: tools complain of that.
n = int(input())
if n == 3:
    raise RuntimeError
print(n if n != 2 else 0)

# The worst of the three is the crash, though it comes last.
n = int(input())
if n == 3:
    raise RuntimeError
while n == 2:
    pass
print(n if n == 4 else 0)

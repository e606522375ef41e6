n = int(input())
if n == 1:
    raise RuntimeError
while True:
    pass

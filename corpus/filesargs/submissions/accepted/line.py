import sys

with open(sys.argv[1]) as file:
    print(*sys.argv[2:], file.read().splitlines()[int(input()) - 1])

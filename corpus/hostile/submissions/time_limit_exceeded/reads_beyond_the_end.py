import sys

while sys.stdin.readline() != "end\n":
    pass

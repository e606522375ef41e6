import sys

with open(sys.argv[1]) as file:
    wanted = int(file.read())
words = sys.stdin.read().split()
right = len(words) == 1 and words[0].isalpha() and words[0].islower()
sys.exit(42 if right and sum(words[0].count(v) for v in "aeiou") == wanted else 43)

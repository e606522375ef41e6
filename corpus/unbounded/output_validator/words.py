import os
import sys

with open(sys.argv[1]) as file:
    letters = int(file.read())
words = sys.stdin.read().split()
good = all(len(word) == letters and word.isascii() and word.islower() for word in words)
if not good or len(set(words)) < len(words):
    sys.exit(43)
with open(os.path.join(sys.argv[3], "score.txt"), "w") as file:
    file.write(f"{len(words)}\n")
sys.exit(42)

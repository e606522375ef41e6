"""Checks an arrangement."""

import sys

from arrangement import problem_with


def main():
    with open(sys.argv[1]) as file:
        n = int(file.read())
    with open(sys.argv[2]) as file:
        possible = file.read().strip() != "impossible"
    words = sys.stdin.read().split()
    fault = problem_with(words, n) if possible else words != ["impossible"] and "It is impossible."
    if fault:
        with open(sys.argv[3] + "judgemessage.txt", "a") as file:
            file.write(f"{fault}\n")
        sys.exit(43)
    sys.exit(42)


main()

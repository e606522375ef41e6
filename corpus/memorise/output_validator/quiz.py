"""Shows the numbers, then asks for some."""

import os
import sys


def reject(text):
    with open(sys.argv[3] + "judgemessage.txt", "w") as file:
        file.write(text + "\n")
    os._exit(43)  # at the ordinary end what nobody took would be written again, and fail


def say(*words):
    try:
        print(*words, flush=True)
    except BrokenPipeError:
        reject("The program doesn't listen.")


def main():
    with open(sys.argv[1]) as file:
        n, numbers, questions = file.read().splitlines()
    say(n)
    say(numbers)
    if sys.stdin.readline().strip() != "ready":
        reject("Not ready.")
    for question in map(int, questions.split()):
        say(question)
        if question == 0:
            break
        answer = sys.stdin.readline().strip()
        if answer != numbers.split()[question - 1]:
            reject(f"Wrong about number {question}: {answer[:20]!r}.")
    if sys.stdin.read().strip():
        reject("Talks after the end.")
    sys.exit(42)


main()

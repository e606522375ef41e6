"""Two sessions; between them only the hint is kept."""

import os
import sys

feedback = sys.argv[3]


def end(code, text):
    with open(os.path.join(feedback, "judgemessage.txt"), "a") as file:
        file.write(text + "\n")
    os._exit(code)


def say(*words):
    try:
        print(*words, flush=True)
    except BrokenPipeError:
        end(43, "The program doesn't listen.")


def first(number):
    say(1)
    for _ in range(9):
        words = sys.stdin.readline().split()
        if len(words) != 2 or words[0] not in ("bit", "hint") or not words[1].isdigit():
            end(43, "Neither bit nor hint.")
        value = int(words[1])
        if words[0] == "hint":
            if value > 255:
                end(43, "The hint is too large.")
            with open(os.path.join(feedback, "kept"), "w") as file:
                file.write(f"{number} {value}")
            with open(os.path.join(feedback, "nextpass.in"), "w") as file:
                file.write(f"{value}\n")
            end(42, f"Hint {value}.")
        if value > 7:
            end(43, "There is no such bit.")
        say(number >> value & 1)
    end(43, "No hint.")


def second(number, hint):
    say(2)
    say(hint)
    said = sys.stdin.readline().strip()
    end(42 if said == number else 43, f"Said {said[:10]}.")


def main():
    kept = os.path.join(feedback, "kept")
    if os.path.exists(kept):
        with open(kept) as file:
            second(*file.read().split())
    with open(sys.argv[1]) as file:
        first(int(file.read()))


main()

"""Does what the submission says."""

import os
import sys

feedback = sys.argv[3]
said = sys.stdin.read().split()
word = said[0] if said else ""

with open(os.path.join(feedback, "passes.txt"), "a") as file:
    file.write("x")
passes = os.path.getsize(os.path.join(feedback, "passes.txt"))
left_over = os.path.exists(os.path.join(feedback, "nextpass.in"))


def next_pass():
    with open(os.path.join(feedback, "nextpass.in"), "w") as file:
        file.write(f"{passes + 1}\n")


if left_over:
    sys.exit(1)
if word == "again":
    next_pass()
    sys.exit(42)
if word == "stop":
    sys.exit(42)
if word == "third":
    sys.exit(42 if passes == 3 else 43)
if word == "both":
    next_pass()
    sys.exit(43)
if word == "broken":
    next_pass()
    sys.exit(0)
if word == "crash":
    raise RuntimeError("in this pass")
sys.exit(43)

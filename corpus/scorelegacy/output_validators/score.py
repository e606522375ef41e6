#!/usr/bin/env python3
import os
import sys

with open(sys.argv[1]) as file:
    most = int(file.read())
try:
    given = int(sys.stdin.read())
except ValueError:
    sys.exit(43)
if not 0 <= given <= most:
    sys.exit(43)
with open(os.path.join(sys.argv[3], "score.txt"), "w") as file:
    file.write(f"{given}\n")
sys.exit(42)

"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

NUMBER = r"(0|-?[1-9][0-9]{0,4})"

found = re.fullmatch(f"{NUMBER} {NUMBER}\n", sys.stdin.read())
valid = found and all(abs(int(number)) <= 10_000 for number in found.groups())
sys.exit(42 if valid else 43)

"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

NUMBER = r"(0|[1-9][0-9]{0,6})"

found = re.fullmatch(f"{NUMBER} {NUMBER}\n", sys.stdin.read())
sys.exit(42 if found and all(int(number) <= 10**6 for number in found.groups()) else 43)

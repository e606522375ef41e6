"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

head, *names = sys.stdin.read().split("\n")
numbers = re.fullmatch(r"([1-9][0-9]{0,4}) ([1-9][0-9]{0,2})", head)
if not numbers or not names or names.pop() != "":
    sys.exit(43)
n, k = map(int, numbers.groups())
valid = n <= 20_000 and k <= 100 and len(names) == n and len(set(names)) >= k
sys.exit(42 if valid and all(re.fullmatch("[a-z]{1,10}", name) for name in names) else 43)

"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

head, *rows = sys.stdin.read().split("\n")
size = re.fullmatch(r"([1-9][0-9]?) ([1-9][0-9]?)", head)
if not size or not rows or rows.pop() != "":
    sys.exit(43)
h, w = map(int, size.groups())
valid = h <= 14 and w <= 14 and len(rows) == h
sys.exit(42 if valid and all(re.fullmatch(f"[.#]{{{w}}}", row) for row in rows) else 43)

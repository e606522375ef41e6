"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

text = sys.stdin.read()
if not re.fullmatch(r"([1-9][0-9]{0,3}) (0|[1-9][0-9]{0,4})\n([1-9][0-9]{0,3} [1-9][0-9]{0,3}\n)*", text):
    sys.exit(43)
n, m, *children = map(int, text.split())
pairs = {frozenset(pair) for pair in zip(children[::2], children[1::2])}
valid = n <= 2_000 and m <= 10_000 and len(children) == 2 * m and max(children, default=1) <= n
sys.exit(42 if valid and len(pairs) == m and all(len(pair) == 2 for pair in pairs) else 43)

"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

NUMBER = r"[1-9][0-9]{0,9}"

text = sys.stdin.read()
if not re.fullmatch(f"{NUMBER} {NUMBER}\n{NUMBER}( {NUMBER})*\n", text):
    sys.exit(43)
n, k, *weights = map(int, text.split())
valid = k <= n <= 10_000 and len(weights) == n and max(weights) <= 10**9
sys.exit(42 if valid else 43)

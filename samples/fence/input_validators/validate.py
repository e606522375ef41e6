"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

NUMBER = r"(?:0|-?[1-9][0-9]{0,6})"

text = sys.stdin.read()
if not re.fullmatch(f"[1-9][0-9]{{0,3}}\n({NUMBER} {NUMBER}\n)*", text):
    sys.exit(43)
n, *numbers = map(int, text.split())
valid = 2 <= n <= 1_000 and len(numbers) == 2 * n
sys.exit(42 if valid and all(abs(number) <= 10**6 for number in numbers) else 43)

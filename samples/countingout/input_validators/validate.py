"""Accepts, with exit code 42, what the statement allows; its arguments are those of a group."""

import argparse
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--most", type=int, default=10**18)
parser.add_argument("--last", action="store_true")
group = parser.parse_args()

found = re.fullmatch(r"([1-9][0-9]{0,18}) ([1-9][0-9]{0,18})\n", sys.stdin.read())
if not found:
    sys.exit(43)
n, m = map(int, found.groups())
sys.exit(42 if m <= n <= group.most and (m == n or not group.last) else 43)

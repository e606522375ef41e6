"""Accepts, with exit code 42, what the statement allows."""

import re
import sys

sys.exit(42 if re.fullmatch(r"[#.]{1,20000}\n", sys.stdin.read()) else 43)

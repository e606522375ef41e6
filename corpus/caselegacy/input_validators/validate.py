"""Accepts exactly what the statement allows."""

import re
import sys

sys.exit(42 if re.fullmatch(r"[A-Za-z]{1,20}\n", sys.stdin.read()) else 43)

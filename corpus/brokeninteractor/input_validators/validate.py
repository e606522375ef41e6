"""Accepts exactly what the statement allows."""

import re
import sys

sys.exit(42 if re.fullmatch(r"", sys.stdin.read()) else 43)

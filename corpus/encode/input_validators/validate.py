"""Accepts exactly what the statement allows."""

import re
import sys

sys.exit(42 if re.fullmatch(r"encode\n[0-9]{1,10}\n", sys.stdin.read()) else 43)

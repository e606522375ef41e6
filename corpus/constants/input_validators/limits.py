import re
import sys

text = sys.stdin.read()
good = re.fullmatch(r"[0-9]{1,2}\n", text) and 1 <= int(text) <= {{most}}
sys.exit(42 if good else 43)

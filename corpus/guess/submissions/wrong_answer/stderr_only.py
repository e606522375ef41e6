import sys

print(500, file=sys.stderr, flush=True)

#!/usr/bin/env python3
import sys

factor = 2 if sys.argv[1:] == ["double"] else 1
results = [line.split() for line in sys.stdin]
right = [float(score) for verdict, score in results if verdict == "AC"]
if 2 * len(right) > len(results):
    print("AC", factor * sum(right))
else:
    print(next(verdict for verdict, _ in results if verdict != "AC"), 0)

#!/usr/bin/env python3
import sys

with open(sys.argv[1]) as file:
    n = int(file.read())
words = sys.stdin.read().split()
sys.exit(42 if len(words) == 1 and len(words[0]) == n else 43)
